"""Portable artefacts say what the programs say that they were made of (`write.py`); damaged ones are an error."""

import random
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import UNKNOWN_LOC

import lamina
from lamina.compiler.bytecode import MAGIC
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.parsing import parse_module
from lamina.compiler.printing import print_module
from lamina.compiler.verifier import verify
from lamina.dialects.stablehlo.portable import read_portable_artifact
from lamina.tools.sources import new_context

HERE = Path(__file__).parent
ARTEFACTS = sorted(HERE.glob("*.mlirbc"))


CONTEXT = new_context()


def read(data):
    return read_portable_artifact(data, "artefact", CONTEXT)


def without_defaults(module):
    """The module without attributes that say nothing, which artefacts do not keep."""
    for op in module.walk():
        for name in ("indices_are_sorted", "unique_indices", "is_stable", "lower", "has_side_effect"):
            value = op.properties.get(name)
            if value is not None and not value.value.data and "triangular" not in op.name:
                del op.properties[name]
    return module


@pytest.mark.parametrize("path", [path for path in ARTEFACTS if path.stem != "run"], ids=lambda path: path.stem)
def test_an_artefact_is_the_program_it_was_made_of(path):
    source = HERE.parent / f"{path.stem.removesuffix('_old')}.mlir"
    expected = parse_module(source.read_text(), source.name, CONTEXT)
    module = read(path.read_bytes())
    verify(module)
    assert without_defaults(module).is_structurally_equivalent(without_defaults(expected)), print_module(module)


def test_places_are_kept():
    module = read((HERE / "control.mlirbc").read_bytes())
    assert any(op.location is not UNKNOWN_LOC for op in module.walk())


def test_it_runs(tmp_path):
    data = (HERE / "run.mlirbc").read_bytes()
    x, w = np.ones((2, 3), np.float32), np.arange(12, dtype=np.float32).reshape(3, 4)
    for model in (data, HERE / "run.mlirbc"):
        [y] = lamina.interpret(model, [x, w])
        np.testing.assert_array_equal(y, x @ w + 1)
    (tmp_path / "bytes.mlir").write_bytes(data)  # `mlir-opt -emit-bytecode` keeps the suffix
    assert lamina.compile(tmp_path / "bytes.mlir", target="interpret").signature.inputs[0].shape == (2, 3)


def test_many_elements_stay_in_the_file():
    context = new_context()
    module = read_portable_artifact((HERE / "run.mlirbc").read_bytes(), "run", context)
    assert "dense_resource<constant>" in print_module(module)
    array = context.weights.get("constant")
    assert array.shape == (2, 4, 16) and array.strides == (0, 0, 0)


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "is not MLIR bytecode"),
        (b"ONNX", "is not MLIR bytecode"),
        (MAGIC, "the bytecode ends too early"),
        (MAGIC + b"\x81x\x00", "bytecode of version 64 cannot be read"),
        (MAGIC + b"\x0dx\x00", "there is no string section"),
        (MAGIC + b"\x0dx\x00\x00\x05\x03\xff", "there is no dialect section"),
        (MAGIC + b"\x0dx\x00\x00" + b"\x00" + b"\xff" * 8, "expected 18446744073709551615 more bytes"),
        (MAGIC + b"\x0dx\x00\x7f\x01", "a section of the unknown kind 127"),
    ],
)
def test_what_is_not_an_artefact(data, message):
    with pytest.raises(LaminaError, match=message):
        read(data)


def test_every_shorter_file_is_an_error():
    data = (HERE / "control.mlirbc").read_bytes()
    for end in range(0, len(data), 23):
        with pytest.raises(LaminaError):
            read(data[:end])


def test_damaged_files_are_errors():
    """No traceback, whatever byte changes; what is read all the same must print."""
    rng = random.Random(1)
    sources = [path.read_bytes() for path in ARTEFACTS]
    for _ in range(100):
        data = bytearray(rng.choice(sources))
        for _ in range(rng.choice((1, 1, 2, 8))):
            data[rng.randrange(4, len(data))] = rng.randrange(256)
        try:
            module = read(bytes(data))
            verify(module)
            print_module(module)
        except LaminaError:
            pass


def test_attributes_cannot_grow_without_bound():
    """Each of many arrays holds the one before twice: small in the file, not in memory."""

    def varint(n):
        return bytes([n << 1 | 1]) if n < 128 else ((n << 2 | 2) & 0xFFFF).to_bytes(2, "little")

    def section(kind, data):
        return bytes([kind]) + varint(len(data)) + data

    arrays = 60
    entries = [b"\x1f"] + [varint(0) + varint(2) + varint(i - 1) * 2 for i in range(1, arrays)]
    offsets = varint(arrays) + varint(0) + varint(0) + varint(arrays)
    offsets += b"".join(varint(len(entry) << 1 | 1) for entry in entries)
    strings = [b"builtin\x00", b"module\x00"]
    text = varint(2) + varint(len(strings[1])) + varint(len(strings[0])) + b"".join(strings)
    dialects = varint(1) + varint(0) + varint(1) + varint(0) + varint(1) + varint(1 << 1 | 1)
    op = varint(1 << 1) + varint(0) + b"\x01" + varint(0) + varint(arrays - 1)
    sections = [section(0, text), section(1, dialects), section(2, b"".join(entries)), section(3, offsets)]
    with pytest.raises(LaminaError, match="too many parts"):
        read(MAGIC + varint(6) + b"x\x00" + b"".join(sections) + section(4, op))
