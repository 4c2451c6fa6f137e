"""Every operator of ONNX with the shape of one input, or one attribute, other than it can be: refused, or lowered."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.tools.fuzz.kinds import KINDS

EACH = 2  # models of an operator
INTS = (0, -1, 9, 1 << 33)
FLOATS = (0.0, -1.0, float("nan"), float("inf"))
STRINGS = (b"", b"zz")


class AtTheHub(Exception):
    """Far enough."""


def reached(what: str) -> None:
    if what == "hub":
        raise AtTheHub


def models() -> Iterator[Any]:
    """A few tests of each operator, and of its function body."""
    seen: Counter[tuple[str, int]] = Counter()
    for data in KINDS["onnx"].seeds(True):
        model: Any = onnx.load_model_from_string(data)
        if model.graph.node:
            key = model.graph.node[0].op_type, len(model.graph.input)
            seen[key] += 1
            if seen[key] <= EACH:
                yield model


def other_shapes(model: Any) -> Iterator[Any]:
    """A dimension more or less, none at all, and each of another size."""
    for i, given in enumerate(model.graph.input):
        if not given.type.HasField("tensor_type"):
            continue
        sizes = [d.dim_value for d in given.type.tensor_type.shape.dim]
        shapes = [[*sizes, 5], [2, *sizes], sizes[:-1], sizes[1:], []]
        shapes += [[*sizes[:k], n, *sizes[k + 1 :]] for k in range(len(sizes)) for n in (0, 1, 7)]
        for shape in shapes:
            changed = copy.deepcopy(model)
            dims = changed.graph.input[i].type.tensor_type.shape
            del dims.dim[:]
            for n in shape:
                dims.dim.add().dim_value = n
            yield changed


def other_attributes(model: Any) -> Iterator[Any]:
    """Each attribute of the first nodes with other values, and each of their inputs left out."""
    for n, node in enumerate(model.graph.node[:3]):
        for a, attribute in enumerate(node.attribute):
            many = list(attribute.ints)
            lists = [
                [*many, 1],
                many[:-1],
                [],
                *([*many[:k], v, *many[k + 1 :]] for k in range(len(many)) for v in INTS),
            ]
            choices: dict[int, tuple[str, Any]] = {
                1: ("f", FLOATS),
                2: ("i", INTS),
                3: ("s", STRINGS),
                7: ("ints", lists),
            }
            field, values = choices.get(attribute.type, ("", ()))
            for value in values:
                changed = copy.deepcopy(model)
                other = changed.graph.node[n].attribute[a]
                other.ClearField(field)
                other.ints.extend(value) if field == "ints" else setattr(other, field, value)
                yield changed
        for i in range(len(node.input)):
            changed = copy.deepcopy(model)
            changed.graph.node[n].input[i] = ""
            yield changed


@pytest.mark.slow
@pytest.mark.parametrize("change", [other_shapes, other_attributes])
def test_neighbours_of_valid_models(change: Any, tmp_path: Path):
    outcomes: Counter[str] = Counter()
    faults: dict[str, str] = {}
    file = tmp_path / "model.onnx"
    for model in models():
        for changed in change(model):
            file.write_bytes(changed.SerializeToString())
            try:
                KINDS["onnx"].use(file, reached)
                outcomes["compiled"] += 1
            except AtTheHub:
                outcomes["lowered"] += 1
            except LaminaError:
                outcomes["refused"] += 1
            except Exception as error:
                faults.setdefault(f"{type(error).__name__}: {error}"[:200], model.graph.name)
    assert not faults
    assert outcomes["refused"] > 500 and outcomes["lowered"] > 500
