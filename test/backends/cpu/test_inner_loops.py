"""The assembly of innermost loops: how many multiply-adds, no scalar ones, nothing that is kept on the stack."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto
from onnx import helper as h
from onnx import numpy_helper as nh

from lamina.backends import Options
from lamina.backends.cpu.aot import write_native
from lamina.tools.bench.attention import Sizes, block
from lamina.tools.sources import read_program

FMA = r"\b(vfn?madd\w+p[sd]|fml[as])\b"
SCALAR_FMA = r"\b(vfn?madd\w+s[sd]|fn?madd)\b"
STACK = r"\(%rsp|\[sp"
STORE_TO_STACK = r"mov\w*\s+%\S+, \S*\(%rsp|\bst[rp]\s.*\[sp"
FIXED = r"\(%rsp\)|\[sp"  # not a row of a pipeline's own, which lies there, too, and is gone through with an index
STORE_TO_FIXED = r"mov\w*\s+%\S+, \S*\(%rsp\)|\bst[rp]\s.*\[sp"
SUMS = {"x86-64-avx2": 12, "x86-64-avx512": 24, "aarch64-neon": 20}  # of a register tile
MACHINES = pytest.mark.parametrize("machine", SUMS)


def net(op: str, shapes: list[list[int]], **attributes: object) -> ModelProto:
    """`op` on x, and on a weight if there are two shapes."""
    names = ["x", "w"][: len(shapes)]
    node = h.make_node(op, names, ["y"], **attributes)
    weights = [nh.from_array(np.ones(shape, np.float32), "w") for shape in shapes[1:]]
    graph = h.make_graph(
        [node],
        "net",
        [h.make_tensor_value_info("x", TensorProto.FLOAT, shapes[0])],
        [h.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        weights,
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)


def innermost_loops(model: ModelProto, machine: str, folder: Path) -> list[str]:
    """The bodies of the loops without a loop or branch inside that multiply and add vectors."""
    write_native(read_program(model), folder / "net.s", machine, Options(winograd=0))
    lines = (folder / "net.s").read_text().splitlines()
    labels: dict[str, int] = {}
    loops: list[str] = []
    for number, line in enumerate(lines):
        if label := re.match(r"(\.L\w+):", line):
            labels[label[1]] = number
        jump = re.match(r"\s+(?:j\w+|b\.\w+|cbn?z|tbn?z)\s.*?(\.L\w+)", line)
        if jump and jump[1] in labels:
            body = lines[labels[jump[1]] + 1 : number + 1]
            if not any(re.match(r"\.L\w+:", inner) for inner in body):
                loops.append("\n".join(body))
    return [loop for loop in loops if len(re.findall(FMA, loop)) > 2]


@MACHINES
def test_products(machine: str, tmp_path: Path):
    loops = innermost_loops(net("MatMul", [[240, 256], [256, 256]]), machine, tmp_path)
    assert loops
    for loop in loops:
        assert len(re.findall(FMA, loop)) % SUMS[machine] == 0
        assert not re.search(SCALAR_FMA, loop) and not re.search(STACK, loop)


def few_bits(rows: int) -> ModelProto:
    """Rows times weights of four bits."""
    said = {"K": 256, "N": 160, "bits": 4, "block_size": 32, "accuracy_level": 4}
    node = h.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **said)
    graph = h.make_graph(
        [node],
        "net",
        [h.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 256])],
        [h.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            nh.from_array(np.zeros((160, 8, 16), np.uint8), "w"),
            nh.from_array(np.ones((160, 8), np.float32), "s"),
        ],
    )
    opsets = [h.make_opsetid("", 21), h.make_opsetid("com.microsoft", 1)]
    return h.make_model(graph, opset_imports=opsets, ir_version=10)


@MACHINES
@pytest.mark.parametrize("rows", [1, 96])
def test_weights_of_few_bits(machine: str, rows: int, tmp_path: Path):
    loops = innermost_loops(few_bits(rows), machine, tmp_path)
    assert max(len(re.findall(FMA, loop)) for loop in loops) >= (SUMS[machine] if rows > 1 else 32)
    for loop in loops:
        assert not re.search(SCALAR_FMA, loop) and not re.search(STORE_TO_STACK, loop)


def test_weights_of_few_bits_times_bytes(tmp_path: Path):
    """Of a block of four words 96 instructions with an element of each row from memory, and nothing is kept there."""
    write_native(read_program(few_bits(96)), tmp_path / "net.s", "x86-64-amx", Options(precision="int8"))
    [loop] = [part for part in (tmp_path / "net.s").read_text().split("\n.L") if part.count("vpdpbusd") > 2]
    assert loop.count("vpdpbusd") == loop.count("{1to16}, %zmm") - loop.count("vfmadd") == 96
    assert not re.search(STORE_TO_STACK, loop)


@MACHINES
def test_convolutions(machine: str, tmp_path: Path):
    model = net("Conv", [[1, 64, 56, 56], [64, 64, 3, 3]], pads=[1, 1, 1, 1])
    loops = innermost_loops(model, machine, tmp_path)
    assert max(len(re.findall(FMA, loop)) for loop in loops) >= SUMS[machine]
    for loop in loops:
        assert not re.search(SCALAR_FMA, loop) and not re.search(STORE_TO_STACK, loop)
    assert any(not re.search(STACK, loop) for loop in loops)


@MACHINES
def test_softmax(machine: str, tmp_path: Path):
    loops = innermost_loops(net("Softmax", [[64, 1024]]), machine, tmp_path)
    assert len(loops) == 2  # of a chunk's first row, and with what is done to the rows before and behind
    for loop in loops:
        assert not re.search(SCALAR_FMA, loop) and not re.search(STORE_TO_FIXED, loop)
        assert len(re.findall(FIXED, loop)) <= 1  # a constant that an instruction reads where it lies


def test_exponentials_of_avx512(tmp_path: Path):
    """A power from a table, six multiply-adds and a scaling that masks what is 0: nothing else for each register.

    Of a row behind it a maximum, of the row before it one product, which is all else that is stored.
    """
    loops = innermost_loops(net("Softmax", [[64, 1024]]), "x86-64-avx512", tmp_path)
    for loop, rows in zip(loops, (1, 3), strict=True):
        powers = len(re.findall(r"vpermps.*%zmm", loop))
        assert powers >= 4 and len(re.findall(r"vscalefps.*%zmm\d+ \{%k\d\} \{z\}", loop)) == powers
        assert len(re.findall(r"vfn?m(?:add|sub)\w+", loop)) == 6 * powers
        assert len(re.findall(r"vmaxps", loop)) == (powers if rows == 3 else 0)
        assert len(re.findall(r"vmulps", loop)) == (2 * powers if rows == 3 else powers)
        assert len(re.findall(r"vmov[au]ps\s%\S+, \S*\(%r\w+,%r\w+,4\)", loop)) == (2 * powers if rows == 3 else powers)
        assert not re.search(r"vps[lr]ld|vminps|vpsubd", loop)


def test_exponentials_of_avx2(tmp_path: Path):
    """A power from a table, its exponent by a shift and a sum, six multiply-adds, two products and a bound."""
    loops = innermost_loops(net("Softmax", [[64, 1024]]), "x86-64-avx2", tmp_path)
    for loop, rows in zip(loops, (1, 3), strict=True):
        powers = len(re.findall(r"vperm(?:ps|d)", loop))
        assert powers >= (2 if rows == 1 else 1) and len(re.findall(r"vfn?m(?:add|sub)\w+", loop)) == 6 * powers
        assert len(re.findall(r"vmulps", loop)) == (3 if rows == 3 else 2) * powers
        assert len(re.findall(r"vmaxps", loop)) == (2 if rows == 3 else 1) * powers
        assert len(re.findall(r"vpslld", loop)) == len(re.findall(r"vpaddd", loop)) == powers
        assert not re.search(r"vminps|vcmp|vpsrld|vpsubd|vblend", loop)


@pytest.mark.parametrize("machine", ["x86-64-avx2", "x86-64-avx512"])
def test_attention(machine: str, tmp_path: Path):
    """With heads beside one another in a row, as projections leave them: sums stay in registers."""
    model = onnx.load(block(Sizes(12, 512, 512, 64)).file(tmp_path))
    loops = innermost_loops(model, machine, tmp_path)
    products = [loop for loop in loops if "vbroadcastss" in loop and not re.search(r"vmin|vmax|vpsll", loop)]
    assert len(products) > 4
    for loop in products:
        fused = len(re.findall(FMA, loop))
        assert len(re.findall(r"vmov[au]ps", loop)) <= max(2, fused // 4)  # of weights, which lie on the stack
        assert not re.search(STORE_TO_STACK, loop)


@pytest.mark.parametrize(("columns", "called"), [(256, False), (1024, True)])
def test_copies_of_rows(columns: int, called: bool, tmp_path: Path):
    """Rows of 1 KB are copied where they are, rows of 4 KB by memcpy."""
    shape = [256, columns]
    inputs = [h.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "ab"]
    node, output = (
        h.make_node("Concat", ["a", "b"], ["y"], axis=1),
        h.make_tensor_value_info("y", TensorProto.FLOAT, None),
    )
    model = h.make_model(
        h.make_graph([node], "net", inputs, [output]), opset_imports=[h.make_opsetid("", 21)], ir_version=10
    )
    write_native(read_program(model), tmp_path / "net.s", "x86-64-avx512", Options())
    assert ("memcpy" in (tmp_path / "net.s").read_text()) == called
