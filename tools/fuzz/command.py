"""`lamina fuzz`: files with changes in them; each is taken or refused with a reason, or it is told what broke."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from .kinds import KINDS, Kind
from .workers import Limits, Outcome, run_cases


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    kinds = "; ".join(f"{name}: {kind.doc}" for name, kind in KINDS.items())
    parser.epilog = f"Kinds: {kinds}. Needs a checkout: its tests are what is changed."
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="what to fuzz, one after the other (default: all)")
    parser.add_argument("--minutes", type=float, default=1.0, help="of each kind (default 1)")
    parser.add_argument("--cases", type=int, help="of each kind at most")
    parser.add_argument("--seed", type=int, default=0, help="cases follow from it and their numbers (default 0)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first case")
    parser.add_argument("--case", type=int, metavar="N", help="this case alone, and all that is known of it")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-found"), help="where files that broke something go")
    parser.add_argument("--quick", action="store_true", help="begin with fewer files, which start sooner")


NONE = Outcome(-1, "ok")


@dataclass
class Tally:
    """The outcomes of a kind."""

    counts: Counter[str] = field(default_factory=Counter[str])
    stages: Counter[str] = field(default_factory=Counter[str])
    found: dict[str, list[Outcome]] = field(default_factory=dict[str, list[Outcome]])
    slowest: Outcome = NONE
    largest: Outcome = NONE

    def add(self, outcome: Outcome) -> bool:
        """Counts an outcome; whether it is the first of its signature."""
        self.counts[outcome.what] += 1
        if outcome.stage:
            self.stages[outcome.stage] += 1
        if outcome.good and outcome.seconds > self.slowest.seconds:
            self.slowest = outcome
        if outcome.memory > self.largest.memory:
            self.largest = outcome
        if outcome.good:
            return False
        alike = self.found.setdefault(outcome.signature, [])
        alike.append(outcome)
        return len(alike) == 1

    def __str__(self) -> str:
        total = sum(self.counts.values())
        ways = ", ".join(f"{count} {what}" for what, count in self.counts.most_common())
        far = ", ".join(f"{count} {stage}" for stage, count in self.stages.most_common())
        return (
            f"{total} cases: {ways}; as far as: {far or 'nothing'}; slowest {self.slowest.seconds:.1f} s "
            f"(case {self.slowest.number}), most memory {self.largest.memory / (1 << 20):.0f} MiB "
            f"(case {self.largest.number}); {len(self.found)} different findings"
        )


def main(args: argparse.Namespace) -> int:
    """Runs the command; 1 when something was found."""
    from ...compiler.diagnostics import LaminaError

    names = args.kinds or list(KINDS)
    if unknown := [name for name in names if name not in KINDS]:
        raise LaminaError(f"unknown kind '{unknown[0]}'", hint=f"one of {', '.join(KINDS)}")
    if args.case is not None and len(names) != 1:
        raise LaminaError("a case is of one kind", hint="give the kind before --case")
    os.environ["LAMINA_JOBS"] = "1"  # compilation stays in the worker, where it is watched
    good = [fuzz(name, KINDS[name], args) for name in names]
    return 0 if all(good) else 1


def fuzz(name: str, kind: Kind, args: argparse.Namespace) -> bool:
    """One kind for its time; whether nothing was found."""
    seeds = kind.seeds(not args.quick)

    def make(number: int) -> bytes:
        return kind.mutant(name, args.seed, number, seeds)

    tally = Tally()
    with TemporaryDirectory(prefix="lamina-fuzz-") as folder:
        warm_up(kind, seeds[0], Path(folder))
        numbers = iter((args.case,)) if args.case is not None else itertools.count(args.first)
        if args.cases is not None:
            numbers = itertools.islice(numbers, args.cases)
        print(f"{name}: seed {args.seed}, {len(seeds)} files to begin with", file=sys.stderr, flush=True)
        until = time.monotonic() + args.minutes * 60
        with closing(run_cases(kind, make, numbers, Path(folder), Limits(kind.seconds), until)) as outcomes:
            for outcome in outcomes:
                if tally.add(outcome) or args.case is not None:
                    keep(args.keep / f"{name}-{args.seed}-{outcome.number}", kind, make(outcome.number), outcome)
                if args.case is not None:
                    print(f"{outcome.what} after {outcome.stage or 'nothing'}: {outcome.report}")
    if args.case is None:
        print(f"{name}: {tally}", flush=True)
        for signature, outcomes in sorted(tally.found.items(), key=lambda item: -len(item[1])):
            print(f"  {len(outcomes)} {outcomes[0].what}: {signature} (case {outcomes[0].number})", flush=True)
    return not tally.found


def keep(stem: Path, kind: Kind, data: bytes, outcome: Outcome) -> None:
    """Writes the file and the report of a finding, and tells of it."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_name(stem.name + kind.suffix).write_bytes(data)
    stem.with_name(stem.name + ".txt").write_text(f"{outcome.what}: {outcome.signature}\n{outcome.report}\n")
    print(f"  {outcome.what}: {outcome.signature} -> {stem}{kind.suffix}", file=sys.stderr, flush=True)


def warm_up(kind: Kind, seed: bytes, folder: Path) -> None:
    """Imports and tables that every case needs are there before the first is forked."""
    from ...compiler.diagnostics import LaminaError

    path = folder / f"warm{kind.suffix}"
    path.write_bytes(seed)
    with suppress(LaminaError):
        kind.use(path, lambda _: None)
