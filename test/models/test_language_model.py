"""A decoder with weights of four bits writes the words that ONNX Runtime writes, token by token over a cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import lamina
from lamina.backends import Options
from lamina.tools.aliases import with_aliases
from lamina.tools.bench import peers_onnx
from lamina.tools.bench.models import ROWS_AS_BYTES, case
from lamina.tools.bench.peers import Settings, Task
from lamina.tools.language_model import Sizes, decoder, inputs_of, main
from lamina.tools.sources import read_program, with_shapes

Array = np.ndarray[Any, np.dtype[Any]]
SIZES = Sizes(layers=2, hidden=64, inner=96, heads=4, shared=2, words=50, context=16)
PROMPT = [3, 1, 4, 1, 5]
TOKENS = 8


class Session:
    """ONNX Runtime's, with a cache that grows."""

    def __init__(self, model: onnx.ModelProto):
        runtime = pytest.importorskip("onnxruntime")
        self.session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        self.names = [spec.name for spec in self.session.get_inputs()]
        empty = inputs_of(SIZES, 1, 0)
        self.cache = {name: empty[name] for name in self.names[2:]}

    def __call__(self, ids: list[int], seen: int) -> Array:
        """The logits of some tokens, of which so many were seen with these."""
        mask = np.ones((1, seen), np.int64)
        logits, *present = self.session.run(None, {**self.cache, "input_ids": [ids], "attention_mask": mask})
        self.cache = dict(zip(self.names[2:], present, strict=True))
        return logits


class Compiled:
    """Ours, with a cache of the longest text's length, changed in place: two shapes, of the prompt and of a token."""

    def __init__(self, model: onnx.ModelProto, precision: str):
        self.model = lamina.compile(model, precision=precision, aliases={"past_key_values.*": "present.*"})
        self.names = [spec.name for spec in self.model.signature.inputs]
        self.cache = {name: x for name, x in inputs_of(SIZES, 1, SIZES.context).items() if name.startswith("past")}

    def __call__(self, ids: list[int], seen: int) -> Array:
        mask = (np.arange(SIZES.context) < seen).astype(np.int64)[None]
        given = {**self.cache, "input_ids": np.array([ids]), "attention_mask": mask}
        logits, *present = self.model(*(given[name] for name in self.names))
        assert all(x is given[name] for name, x in zip(self.names[2:], present, strict=True))
        return logits


@pytest.mark.parametrize(("bits", "precision"), [(32, "f32"), (4, "int8")])
def test_writes_as_onnx_runtime(bits: int, precision: str) -> None:
    """What ONNX Runtime rounds to bytes, by accuracy_level, is rounded here with --precision int8."""
    model = decoder(SIZES, bits)
    theirs, ours = Session(model), Compiled(model, precision)
    written, ids = len(PROMPT), PROMPT
    for _ in range(TOKENS):
        expected = theirs(ids, written)
        np.testing.assert_allclose(ours(ids, written), expected, rtol=0, atol=1e-4 * np.abs(expected).max())
        ids = [int(expected[0, -1].argmax())]
        written += 1


def test_floats_times_four_bits() -> None:
    """Without rounding, as the reference."""
    model = decoder(SIZES)
    given = list(inputs_of(SIZES, 3, 4).values())
    reference = lamina.compile(model, "interpret")
    for got, expected in zip(lamina.compile(model)(*given), reference(*given), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-5 * np.abs(expected).max())


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["language_model", str(tmp_path / "in" / "d.onnx"), "--hidden=64", "--inner=32", "--words=9", "--layers=1"]
    monkeypatch.setattr("sys.argv", words)
    assert main() == 0
    assert lamina.import_onnx(tmp_path / "in" / "d.onnx").signature.inputs[2].shape[1] == 2
    assert np.load(tmp_path / "in" / "d.token.npz")["in.attention_mask"].shape == (1, 128)
    one, many = (case(str(tmp_path / "in" / "d.onnx"), {}, tmp_path / "in" / f"d.{n}.npz") for n in ("token", "prompt"))
    assert (one.bound, many.bound) == ("read", "fma") and one.moved == many.moved and many.operations > one.operations
    assert one.of_largest and one.limit == ROWS_AS_BYTES  # a peer rounds rows, and what follows with them
    for wrong in ("--hidden=40", "--shared=3", "--layers=0"):
        monkeypatch.setattr("sys.argv", [*words, wrong])
        assert main() == 2
        assert "must be multiples of 32" in capsys.readouterr().err


def test_caches_are_not_copied() -> None:
    """Where they are changed in place no kernel of @main copies a buffer."""
    program = read_program(decoder(SIZES))
    sizes = {"batch_size": 1, "sequence_length": 1}
    lengths = dict.fromkeys(("past_sequence_length", "total_sequence_length"), SIZES.context)
    program = with_aliases(with_shapes(program, sizes | lengths), {"past_key_values.*": "present.*"})
    text = str(lamina.lower(program, to="buffers"))
    assert "@copy_" not in text and text.count("lamina.aliasing_output") == 2 * SIZES.layers


def test_bench_changes_caches_on_both_sides(tmp_path: Path) -> None:
    """Peers that can are given the same memory for both, and results agree."""
    pytest.importorskip("onnxruntime")
    onnx.save(decoder(SIZES, 32), tmp_path / "d.onnx")
    given = {f"in.{name}": x for name, x in inputs_of(SIZES, 1, SIZES.context).items()}
    np.savez(tmp_path / "d.npz", allow_pickle=False, **given)
    aliases = {"past_key_values.*": "present.*"}
    outputs = []
    for call in (peers_onnx.lamina, peers_onnx.onnxruntime):
        work = case(str(tmp_path / "d.onnx"), {}, tmp_path / "d.npz", aliases=aliases).build()
        outputs.append(call(Task(work, tmp_path / "d.onnx", tmp_path, Settings(1)))())
        assert outputs[-1][1] is work.inputs["past_key_values.0.key"]
    for ours, theirs in zip(*outputs, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4 * np.abs(theirs).max())


@pytest.mark.parametrize(("tokens", "past"), [(1, 300), (20, 0)])
def test_attention_is_one_kernel(tokens: int, past: int) -> None:
    """Of a token over many keys, which queries share, and of a prompt; layers share what hides keys."""
    sizes = Sizes(layers=2, hidden=64, inner=32, heads=4, shared=1, words=9, context=512)
    model, given = decoder(sizes, 32), inputs_of(sizes, tokens, past)
    for value in model.graph.input:
        for dimension, size in zip(value.type.tensor_type.shape.dim, given[value.name].shape, strict=True):
            dimension.Clear()
            dimension.dim_value = size
    assert "linalg_ext.attention" in str(lamina.lower(lamina.import_onnx(model), to="linalg"))
    for got, expected in zip(
        lamina.compile(model)(*given.values()), lamina.compile(model, "interpret")(*given.values()), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-5 * np.abs(expected).max())


def test_a_prompt_whose_mask_is_too_large_to_be_a_constant() -> None:
    """It is known all the same, and then nobody computes it: neither a kernel nor a result that nothing reads."""
    model = decoder(Sizes(layers=4, hidden=64, inner=32, heads=2, shared=1, words=9, context=6000), 32)
    shapes = {"batch_size": 1, "sequence_length": 6000, "past_sequence_length": 0, "total_sequence_length": 6000}
    text = str(lamina.lower(lamina.import_onnx(model), to="buffers", shapes=shapes))
    assert "causal = 0" in text and "6000x6000" not in text


@pytest.mark.parametrize(("precision", "error"), [("f32", 2e-5), ("bf16", 3e-2)])
def test_long_prompt(precision: str, error: float) -> None:
    """Scores that no cache holds are those of one kernel, which reads no mask: it is known to be causal."""
    sizes = Sizes(layers=3, hidden=64, inner=32, heads=2, shared=1, words=9, context=1100)
    model, given = decoder(sizes, 32), inputs_of(sizes, 1100, 0)
    shapes = {"batch_size": 1, "sequence_length": 1100, "past_sequence_length": 0, "total_sequence_length": 1100}
    options = Options(precision=precision)
    lowered = str(
        lamina.lower(lamina.import_onnx(model), to="linalg", target="cpu:x86-64-amx", shapes=shapes, options=options)
    )
    kernels = [line for line in lowered.splitlines() if '"linalg_ext.attention"' in line]
    assert kernels and all("causal = 0" in line for line in kernels) and "1100x1100x" not in lowered
    expected = lamina.compile(model, "interpret")(*given.values())
    for got, want in zip(lamina.compile(model, precision=precision)(*given.values()), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=error * np.abs(want).max())
