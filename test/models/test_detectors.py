"""Detectors of `torchvision`: the boxes that ONNX Runtime finds, but for those that rounding decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

import lamina

pytest.importorskip("torchvision")
from lamina.tools.architectures.detectors import DETECTORS, write_detector

Arrays = list[np.ndarray[Any, np.dtype[Any]]]


@pytest.mark.slow
@pytest.mark.parametrize("name", DETECTORS)
def test_finds_the_same(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = write_detector(name, tmp_path_factory.mktemp("detectors"))
    image = np.load(path.with_suffix(".npz"))["in.image"]
    expected: Any = onnxruntime.InferenceSession(str(path)).run(None, {"image": image})
    found: Arrays = lamina.compile(path)(image)
    assert [x.shape for x in found] == [x.shape for x in expected] and len(expected[0]) >= 20
    assert _shared(expected, found) > 0.95 and _shared(found, expected) > 0.95


def _shared(these: Arrays, those: Arrays) -> float:
    """How many of these boxes are among those, of the same class and with the same score.

    Which of two overlapping ones with all but equal scores is kept, rounding decides; ONNX Runtime differs from itself,
    unoptimised, by as many.
    """
    boxes, labels, scores = those
    return float(
        np.mean(
            [
                np.any((np.abs(boxes - box).max(1) < 0.05) & (labels == label) & (np.abs(scores - score) < 1e-4))
                for box, label, score in zip(*these, strict=True)
            ]
        )
    )
