"""ONNX files with wrong bytes in them are told what is wrong: a LaminaError, never another, never a wait.

`LAMINA_MUTATIONS=100000 pytest -m slow test/property/test_onnx_mutations.py` runs as many fresh ones, from the number
`LAMINA_MUTATIONS_FROM` on, or from one by the clock; each case follows from its number.
"""

from __future__ import annotations

import os
import random
import time
import traceback
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import lamina

LONGEST = 10.0  # seconds for one file


@cache
def models() -> tuple[bytes, ...]:
    """Small valid files: constants, shape arithmetic, a convolution, an If."""
    return tuple(proto.SerializeToString() for proto in (_network(), _branch()))


def _network() -> ModelProto:
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    shape = numpy_helper.from_array(np.array([1, -1], np.int64), "shape")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Reshape", ["r", "shape"], ["f"]),
        helper.make_node("Softmax", ["f"], ["y"], axis=1),
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [1, 3, 8, 8]), ("y", None))]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [weight, shape])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _branch() -> ModelProto:
    out = helper.make_tensor_value_info("o", TensorProto.FLOAT, [2])
    sides = [helper.make_graph([helper.make_node(name, ["x"], ["o"])], name, [], [out]) for name in ("Neg", "Exp")]
    node = helper.make_node("If", ["c"], ["y"], then_branch=sides[0], else_branch=sides[1])
    ends = [
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [2]),
    ]
    graph = helper.make_graph([node], "g", ends[:2], ends[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def mutant(number: int) -> bytes:
    """A file with one to five changes of its bytes."""
    dice = random.Random(number)
    data = bytearray(dice.choice(models()))
    for _ in range(dice.choice((1, 1, 2, 3, 5))):
        at = dice.randrange(len(data))
        match dice.randrange(5):
            case 0:
                data[at] ^= 1 << dice.randrange(8)
            case 1:
                data[at] = dice.choice((0, 1, 127, 128, 255, dice.randrange(256)))
            case 2:
                del data[at : at + dice.choice((1, 2, 8))]
            case 3:
                data[at:at] = dice.randbytes(dice.choice((1, 2, 8)))
            case _:
                data[at:at] = data[at : at + dice.choice((1, 8, 40))]
    return bytes(data)


def tell_all(numbers: range, folder: Path) -> list[str]:
    """What went wrong, a text for each case that did."""
    wrong: list[str] = []
    path = folder / "model.onnx"
    for number in numbers:
        path.write_bytes(mutant(number))
        start = time.process_time()
        try:
            lamina.lower(lamina.import_onnx(path), "stablehlo")
        except lamina.LaminaError:
            pass
        except Exception as error:
            wrong.append(f"case {number}: {error!r}\n" + "".join(traceback.format_tb(error.__traceback__)[-4:]))
        if time.process_time() - start > LONGEST:
            wrong.append(f"case {number}: more than {LONGEST} s")
    return wrong


def test_mutations(tmp_path: Path) -> None:
    wrong = tell_all(range(12900, 13050), tmp_path)  # 13014: branches of different lengths
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_many_mutations(tmp_path: Path) -> None:
    first = int(os.environ.get("LAMINA_MUTATIONS_FROM", time.time_ns() // 1000))
    wrong = tell_all(range(first, first + int(os.environ.get("LAMINA_MUTATIONS", 20_000))), tmp_path)
    assert not wrong, "\n".join(wrong)
