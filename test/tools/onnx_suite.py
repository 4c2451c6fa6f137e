"""ONNX's own backend tests: `python test/tools/onnx_suite.py [--device CPU] [--only TEXT] [--part K/N]`.

Every case of `onnx.backend.test` goes through `lamina.onnx_backend`; what fails is told, and 1 is the exit code unless
all of it was refused with a reason. An hour on one core; `--only` takes the cases whose names contain a text.
"""

from __future__ import annotations

import argparse
import sys
import unittest
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx.backend.test

import lamina
from lamina.tools.onnx_backend import UnsupportedError


class Outcomes(unittest.TestResult):
    """Counts passes, refusals and failures, and prints the last two."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.counts["pass"] += 1

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        self._tell("unsupported" if isinstance(err[1], UnsupportedError) else "error", test, err[1])

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self._tell("wrong", test, err[1])

    def _tell(self, what: str, test: unittest.TestCase, error: BaseException | None) -> None:
        self.counts[what] += 1
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        print(f"{what}: {test.id().rpartition('.')[2]}: {reason}", flush=True)


class Suite(onnx.backend.test.BackendTest):
    """ONNX's runner, which takes a tensor in a sequence for a list of its rows and fails where it has rank 0."""

    @classmethod
    def assert_similar_outputs(cls, ref_outputs: Any, outputs: Any, *args: Any, **named: Any) -> None:
        if isinstance(ref_outputs, np.ndarray):
            ref_outputs, outputs = [ref_outputs], [outputs]
        super().assert_similar_outputs(ref_outputs, outputs, *args, **named)


def cases(suite: unittest.TestSuite, device: str, only: str) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test, device, only)
        elif test.id().endswith(f"_{device.lower()}") and only in test.id():
            yield test


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="CPU", help="CPU (default) or another that the backend supports")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names contain this")
    parser.add_argument("--part", default="0/1", metavar="K/N", help="every N-th case from the K-th on")
    arguments = parser.parse_args()
    first, step = map(int, arguments.part.split("/"))
    np.random.seed(0)
    warnings.simplefilter("ignore")
    outcomes = Outcomes()
    tests = Suite(lamina.onnx_backend, __name__).test_suite
    for test in list(cases(tests, arguments.device, arguments.only))[first::step]:
        test.run(outcomes)
    print(", ".join(f"{count} {what}" for what, count in outcomes.counts.items()))
    return 0 if set(outcomes.counts) <= {"pass", "unsupported"} else 1


if __name__ == "__main__":
    sys.exit(main())
