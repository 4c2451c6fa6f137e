"""Attention of models that are of 16 bits throughout: one kernel, and nearer to float64 than three are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr

import lamina
from lamina.backends import Options
from lamina.backends.cuda.emulated import EmulatedProgram
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.program import Program
from lamina.compiler.walking import all_ops
from lamina.passes.linalg import fuse_attention
from lamina.tools.architectures.export import exported
from lamina.tools.architectures.table import ARCHITECTURES, TEST
from lamina.tools.pytorch.tensors import array_of
from lamina.tools.sources import read_program

TYPES: dict[str, Any] = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "i1": np.bool_}
MINUS_INFINITY = {"bf16": "0xFF80", "f16": "0xFC00", "f32": "0xFF800000"}
LOWEST = {"bf16": "0xFF7F", "f16": "0xFBFF"}
SCALE = 0.125


@dataclass(frozen=True)
class Case:
    """Heads, queries, keys and columns; the element type, that of the softmax, and the mask.

    "added" is a tensor of queries and keys, "padding" one of keys, "chosen" one of truth values, "causal" a constant.
    """

    sizes: tuple[int, int, int, int]
    type: str
    softmax: str
    mask: str = ""

    def text(self) -> str:
        (h, m, s, d), t, inner = self.sizes, self.type, self.softmax
        scores, rows = f"tensor<{h}x{m}x{s}x{t}>", f"tensor<{h}x{m}x{inner}>"
        inside, result = f"tensor<{h}x{m}x{s}x{inner}>", f"tensor<{h}x{m}x{d}x{t}>"
        keys, given = f"tensor<{h}x{s}x{d}x{t}>", self.given()
        arguments = "".join(f", %mask: tensor<{g}>" for g in given)
        return f"""
func.func public @main(%q: {result}, %k: {keys}, %v: {keys}{arguments}) -> {result} {{
  %low = stablehlo.constant dense<{MINUS_INFINITY[inner]}> : tensor<{inner}>
  %zero = stablehlo.constant dense<0.0> : tensor<{inner}>
  %c = stablehlo.constant dense<{SCALE}> : {scores}
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : ({result}, {keys}) -> {scores}
  %b = stablehlo.multiply %a, %c : {scores}
  {self.masked()}
  %x = stablehlo.convert %s : ({scores}) -> {inside}
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [2] : ({inside}, tensor<{inner}>) -> {rows}
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ({rows}) -> {inside}
  %d = stablehlo.subtract %x, %mb : {inside}
  %e = stablehlo.exponential %d : {inside}
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : ({inside}, tensor<{inner}>) -> {rows}
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : ({rows}) -> {inside}
  %p = stablehlo.divide %e, %tb : {inside}
  %w = stablehlo.convert %p : ({inside}) -> {scores}
  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ({scores}, {keys}) -> {result}
  return %o : {result}
}}
"""  # noqa: E501

    def given(self) -> list[str]:
        """The type of the mask that is an argument."""
        _, m, s, _ = self.sizes
        types = {"added": f"{m}x{s}x{self.type}", "padding": f"{s}x{self.type}", "chosen": f"{m}x{s}xi1"}
        return [types[self.mask]] if self.mask in types else []

    def masked(self) -> str:
        """What makes %s of %b."""
        (h, m, s, _), t = self.sizes, self.type
        scores = f"tensor<{h}x{m}x{s}x{t}>"
        if self.mask == "":
            return f"%s = stablehlo.convert %b : ({scores}) -> {scores}"
        if self.mask == "causal":
            rows = ("[" + ", ".join("0.0" if key <= row else LOWEST[t] for key in range(s)) + "]" for row in range(m))
            constant = f"%mask = stablehlo.constant dense<[{', '.join(rows)}]> : tensor<{m}x{s}x{t}>\n"
            return constant + self._added(f"{m}x{s}x{t}", "1, 2")
        if self.mask == "chosen":
            return f"""%low_one = stablehlo.constant dense<{LOWEST[t]}> : {scores}
  %sees = stablehlo.broadcast_in_dim %mask, dims = [1, 2] : (tensor<{m}x{s}xi1>) -> tensor<{h}x{m}x{s}xi1>
  %s = stablehlo.select %sees, %b, %low_one : tensor<{h}x{m}x{s}xi1>, {scores}"""
        return self._added(self.given()[0], "1, 2" if self.mask == "added" else "2")

    def _added(self, mask: str, dims: str) -> str:
        h, m, s, _ = self.sizes
        scores = f"tensor<{h}x{m}x{s}x{self.type}>"
        return f"""%wide = stablehlo.broadcast_in_dim %mask, dims = [{dims}] : (tensor<{mask}>) -> {scores}
  %s = stablehlo.add %b, %wide : {scores}"""

    def arrays(self) -> list[Any]:
        """Queries, keys, values and masks: those with columns hide some keys, but never all of a query's."""
        rng = np.random.default_rng(0)
        h, m, s, d = self.sizes
        found = [
            (2 * rng.standard_normal(shape)).astype(TYPES[self.type]) for shape in [(h, m, d), (h, s, d), (h, s, d)]
        ]
        if self.mask == "chosen":
            seen = rng.random((m, s)) < 0.5
            seen[:, 0] = True
            found.append(seen)
        elif self.given():
            mask = rng.standard_normal((m, s) if self.mask == "added" else s)
            mask[..., s // 2 :: 3] = -np.inf
            found.append(mask.astype(TYPES[self.type]))
        return found

    def expected(self, arrays: list[Any]) -> Any:
        """In float64."""
        query, key, value, *masks = (array.astype(np.float64) for array in arrays)
        scores = SCALE * np.einsum("hmd,hsd->hms", query, key)
        if self.mask == "chosen":
            scores = np.where(masks[0] != 0, scores, -np.inf)
        elif self.mask == "causal":
            scores = np.where(np.tri(*scores.shape[1:]) != 0, scores, -np.inf)
        elif masks:
            scores = scores + masks[0]
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return np.einsum("hms,hsn->hmn", weights / weights.sum(-1, keepdims=True), value)


def program_of(case: Case, folder: Path) -> Program:
    path = folder / "m.mlir"
    path.write_text(case.text())
    program = read_program(str(path))
    assert isinstance(program, Program)
    return program


def compiled(case: Case, name: str, folder: Path) -> EmulatedProgram:
    model = CudaTarget(name).compile(program_of(case, folder), Options(cache=False, emulate=True))
    assert isinstance(model, EmulatedProgram)
    return model


def error(found: Any, expected: Any) -> float:
    """The root of the mean square of what is wrong."""
    return float(np.sqrt(np.mean((found.astype(np.float64) - expected) ** 2)))


SMALL, LARGE = (2, 33, 45, 24), (2, 70, 90, 64)  # odd: by warps everywhere, by warpgroups where there are any
CASES = [
    Case(SMALL, "bf16", "bf16"),
    Case(SMALL, "f16", "f32", "added"),
    Case(SMALL, "bf16", "f32", "causal"),
    Case(LARGE, "f16", "f16", "padding"),
    Case(LARGE, "bf16", "bf16", "added"),
    Case(LARGE, "bf16", "f32", "chosen"),
    Case(LARGE, "f16", "f16", "causal"),
    Case((1, 70, 90, 52), "bf16", "bf16", "added"),
]


@pytest.mark.parametrize("name", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: "-".join([*map(str, case.sizes), case.type, case.softmax, case.mask])
)
def test_one_kernel_is_nearer_than_three(
    case: Case, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, arrays = compiled(case, name, tmp_path), case.arrays()
    expected = case.expected(arrays)
    assert len(model.built.launches) == (2 if case.mask == "chosen" else 1)  # truth values to numbers
    by_groups = [kernel for kernel in model.built.kernels.values() if "wgmma.mma_async" in kernel.ptx]
    assert len(by_groups) == (name == "sm_90a" and case.sizes == LARGE)
    runs: list[float] = []
    for seed in (None, 0, 1):
        model.late, model.seed = seed is not None, seed or 0
        [found] = model.run(arrays)
        assert found.dtype == TYPES[case.type]
        runs.append(error(found, expected))
    assert all(counted.bank_conflicts == 0 for counted in model.counters)
    monkeypatch.setattr(fuse_attention, "match", lambda *_: None)
    three = compiled(case, name, tmp_path)
    assert len(three.built.launches) > 2
    assert max(runs) <= error(three.run(arrays)[0], expected)
    assert max(runs) <= 2.0 ** (-9 if case.type == "bf16" else -12) * np.abs(expected).max()


@pytest.mark.parametrize("level", ["linalg", "tiles", "gpu"])
def test_every_level_means_the_same(level: str, tmp_path: Path) -> None:
    case = Case(LARGE, "bf16", "f32", "added")
    arrays, model = case.arrays(), CudaTarget("sm_90a")
    lowered = model.lower(program_of(case, tmp_path), level, Options())
    if level == "linalg":
        [result] = lamina.interpret(lowered, arrays)
    else:
        result = np.zeros(arrays[0].shape, TYPES["bf16"])
        Interpreter(lowered.context).run(lowered.module, [*arrays, result, *[np.zeros(0, np.int8)] * 2])
    expected = case.expected(arrays)
    assert error(result, expected) <= 2.0**-9 * np.abs(expected).max()


@pytest.mark.parametrize(("name", "route", "kind"), [("Llama", "onnx", "bfloat16"), ("BERT", "export", "float16")])
def test_a_layer_of_transformers_has_one(name: str, route: str, kind: str) -> None:
    """Models of 16 bits as PyTorch's exporters write them: with a softmax in f32, and masks that are inputs."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("onnxscript")
    module, named = ARCHITECTURES[name].build(replace(TEST, length=33, batch=1))
    module, inputs = module.to(getattr(torch, kind)), list(named.values())
    whole = exported(module, inputs) if route == "onnx" else torch.export.export(module, tuple(inputs))
    program, target = read_program(whole), CudaTarget("sm_90a")
    assert isinstance(program, Program)
    lowered = target.lower(program, "linalg", Options())
    kernels = {op.sym_name.data for op in lowered.module.ops if is_attention(op)}
    calls = [
        op for op in all_ops(lowered.module) if isinstance(op, func.CallOp) and op.callee.string_value() in kernels
    ]
    assert len(calls) == module.inner.config.num_hidden_layers
    model = target.compile(program, Options(cache=False, emulate=True))
    [found, *_] = model.run([array_of(tensor) for tensor in inputs])
    with torch.no_grad():
        [right, *_] = (array_of(tensor.double()) for tensor in module.double()(*inputs))
    assert error(found, right) <= 2.0 ** (-8 if kind == "bfloat16" else -11) * np.abs(right).max()


def is_attention(op: object) -> TypeGuard[func.FuncOp]:
    """Whether an op is a kernel of this kind."""
    return isinstance(op, func.FuncOp) and op.attributes.get("lamina.kernel") == StringAttr("attention")
