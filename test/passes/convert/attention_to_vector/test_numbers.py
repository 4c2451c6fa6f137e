"""Attention compiled through tiles gives the numbers of float64, whatever sizes leave over and masks hide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

TEXT = """
func.func public @kernel(ARGUMENTS, %o: memref<SHAPE_O>) attributes {lamina.kernel = "attention"} {
  "linalg_ext.attention"(NAMES, %o) <{FLAGSindexing_maps = [MAPS], operandSegmentSizes = array<i32: COUNT, 1>}> ({
  ^bb0(BODY_ARGUMENTS):
    %c = arith.constant 0.25 : f32
    %0 = arith.mulf %s, %c : f32
    BODY
    "linalg_ext.yield"(%last) : (f32) -> ()
  }) : (TYPES, memref<SHAPE_O>) -> ()
  func.return
}"""
LOOPS: tuple[str, ...] = (
    "g",
    "h",
    "m",
    "d",
    "s",
    "n",
)  # groups of heads that share keys, heads, queries, depth, keys, columns


@dataclass
class Case:
    """Subscripts of query, key, value, masks and output over LOOPS."""

    sizes: tuple[int, ...]
    subscripts: tuple[str, ...] = ("ghmd", "gsd", "gsn", "ghmn")
    masks: tuple[str, ...] = ()
    causal: int | None = None
    zero_undefined: bool = False

    def text(self) -> str:
        """The kernel."""
        extent: dict[str, int] = dict(zip(LOOPS, self.sizes, strict=True))
        query, key, value, output = self.subscripts
        operands = [query, key, value, *self.masks]
        shapes = ["x".join(str(extent[c]) for c in part) + "xf32" for part in (*operands, output)]
        maps = [f"affine_map<({', '.join(LOOPS)}) -> ({', '.join(part)})>" for part in (*operands, output)]
        names = [f"%a{i}" for i in range(len(operands))]
        body = [f"%{i + 1} = arith.addf %{i}, %m{i} : f32" for i in range(len(self.masks))]
        flags = "" if self.causal is None else f"causal = {self.causal} : i64, "
        flags += "zero_undefined, " if self.zero_undefined else ""
        text = TEXT.replace("BODY_ARGUMENTS", ", ".join(["%s: f32", *(f"%m{i}: f32" for i in range(len(self.masks)))]))
        for old, new in {
            "ARGUMENTS": ", ".join(f"{n}: memref<{s}>" for n, s in zip(names, shapes, strict=False)),
            "SHAPE_O": shapes[-1],
            "FLAGS": flags,
            "MAPS": ", ".join(maps),
            "NAMES": ", ".join(names),
            "COUNT": str(len(names)),
            "TYPES": ", ".join(f"memref<{s}>" for s in shapes[:-1]),
            "BODY": "\n".join(body),
            "%last": f"%{len(self.masks)}",
        }.items():
            text = text.replace(old, new)
        return text

    def arrays(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random inputs, then the output full of what must not be read."""
        extent: dict[str, int] = dict(zip(LOOPS, self.sizes, strict=True))
        made = [
            rng.standard_normal([extent[c] for c in part]).astype(np.float32)
            for part in (*self.subscripts[:3], *self.masks)
        ]
        return [*made, np.full([extent[c] for c in self.subscripts[3]], np.nan, np.float32)]

    def expected(self, arrays: list[np.ndarray]) -> np.ndarray:
        """Attention in float64."""
        query, key, value, output = self.subscripts
        wide = [a.astype(np.float64) for a in arrays]
        every = np.ones(self.sizes[:2])
        with np.errstate(invalid="ignore", over="ignore"):
            scores = 0.25 * np.einsum(f"{query},{key},gh->ghms", wide[0], wide[1], every)
            for part, mask in zip(self.masks, wide[3:-1], strict=True):
                scores = scores + np.einsum(f"{part},ghms->ghms", mask, np.ones_like(scores))
            if self.causal is not None:
                queries, keys = np.ogrid[: scores.shape[2], : scores.shape[3]]
                scores = np.where(keys <= queries + self.causal, scores, -np.inf)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            weights /= weights.sum(-1, keepdims=True)
            if self.zero_undefined:
                weights = np.where(np.isnan(weights), 0, weights)
            return np.einsum(f"ghms,{value},gh->{output}", weights, wide[2], every)


Kernel = Callable[..., None]


def check(kernel: Kernel, case: Case, arrays: list[np.ndarray], block: int | None = None) -> None:
    """Compiles, runs and compares."""
    option = f"{{block={block}}}" if block else ""
    kernel(case.text(), f"convert-attention-to-vector{option},math-expand", arrays)
    np.testing.assert_allclose(arrays[-1], case.expected(arrays), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "sizes",
    [
        (1, 1, 1, 1, 1, 1),
        (1, 2, 2, 3, 5, 2),
        (2, 1, 3, 80, 1, 7),
        (1, 1, 5, 8, 7, 80),
        (1, 3, 7, 16, 6, 9),
        (2, 2, 8, 9, 12, 8),
        (1, 1, 9, 64, 13, 17),
        (1, 2, 15, 7, 31, 6),
        (2, 3, 16, 17, 67, 64),
        (1, 1, 17, 1, 5, 1),
        (1, 2, 31, 33, 36, 5),
        (1, 1, 33, 40, 37, 12),
        (2, 2, 67, 64, 41, 79),
    ],
)
def test_sizes(kernel: Kernel, sizes: tuple[int, ...]):
    for causal in (None, 3):
        case = Case(sizes, causal=causal)
        check(kernel, case, case.arrays(np.random.default_rng(0)))


@pytest.mark.parametrize(("keys", "causal"), [(12, None), (13, 0), (24, 9), (29, None), (67, 0), (67, 9)])
def test_blocks_of_keys(kernel: Kernel, keys: int, causal: int | None):
    case = Case((1, 2, 35, 11, keys, 20), masks=("ms",), causal=causal)
    check(kernel, case, case.arrays(np.random.default_rng(1)), block=12)


@pytest.mark.parametrize(
    ("subscripts", "masks"),
    [
        (("mghd", "sgd", "sgn", "mghn"), ()),  # heads beside each other, as projections leave them
        (("ghdm", "gds", "gns", "ghnm"), ()),  # everything transposed
        (("ghmd", "ghsd", "hsn", "nmgh"), ("gs",)),  # keys that are padding
        (("ghmd", "gsd", "gsn", "ghmn"), ("ghms", "s", "m")),  # biases
        (("ghmd", "gsd", "gsn", "ghmn"), ("sm", "g")),
    ],
)
@pytest.mark.parametrize("block", [None, 18])
def test_layouts_and_masks(kernel: Kernel, subscripts: tuple[str, ...], masks: tuple[str, ...], block: int | None):
    case = Case((2, 3, 21, 13, 40, 10), (*subscripts,), masks)
    check(kernel, case, case.arrays(np.random.default_rng(2)), block=block)


@pytest.mark.parametrize("zero_undefined", [False, True])
@pytest.mark.parametrize("block", [None, 12])
def test_rows_that_see_nothing_and_infinite_scores(kernel: Kernel, zero_undefined: bool, block: int | None):
    case = Case((1, 1, 19, 8, 30, 9), masks=("ms",), zero_undefined=zero_undefined)
    arrays = case.arrays(np.random.default_rng(3))
    mask = arrays[3]
    mask[2] = -np.inf  # no key at all
    mask[3, :29] = -np.inf  # the last one
    mask[4, 13:] = -np.inf  # the first ones
    mask[5] = np.finfo(np.float32).min  # each as little as the others
    mask[6, 7] = np.inf
    mask[7, 20] = np.nan
    check(kernel, case, arrays, block=block)
    assert np.isnan(arrays[-1][0, 0, 2]).all() != zero_undefined


def test_keys_behind_the_query_are_not_read(kernel: Kernel):
    case = Case((1, 1, 16, 8, 48, 8), causal=0)
    arrays = case.arrays(np.random.default_rng(4))
    arrays[1][:, 16:] = np.nan
    arrays[2][:, 16:] = np.nan
    kernel(case.text(), "convert-attention-to-vector,math-expand", arrays)
    assert np.isfinite(arrays[-1]).all()
