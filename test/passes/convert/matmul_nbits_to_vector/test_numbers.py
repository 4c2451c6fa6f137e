"""Products with weights of a few bits give the numbers of float64, whatever rows, columns and blocks leave over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from lamina.compiler.machine import Machine

Kernel = Callable[..., None]
TEXT = """
func.func public @kernel(%x: memref<X>, %w: memref<W>, %s: memref<S>, %z: memref<Z>, SCALES%o: memref<O>)
    attributes {lamina.kernel = "matmul_nbits"} {
  "linalg_ext.matmul_nbits"(NAMES) <{bits = BITS : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, COUNT, 1>}>
      : (TYPES) -> ()
  func.return
}"""


@dataclass(frozen=True)
class Case:
    """Sizes of a product."""

    rows: int
    columns: int
    blocks: int = 3
    block: int = 32
    bits: int = 4
    whole: bool = False
    machine: str = ""

    def run(self, kernel: Kernel, options: str = "") -> None:
        """Compiles, runs and compares."""
        rng = np.random.default_rng((self.rows, self.columns, self.blocks, self.block, self.bits))
        lanes = (Machine.preset(self.machine) if self.machine else Machine.host()).lanes(4)
        panels, words = -(-self.columns // lanes), self.blocks * self.block * self.bits // 32
        packed = rng.integers(0, 256, (panels, words, lanes, 4), np.uint8)
        scales = rng.standard_normal((panels, self.blocks, lanes)).astype(np.float32)
        if self.whole:
            lhs = rng.integers(-127, 128, (self.blocks, self.rows, self.block)).astype(np.int8)
            starts = rng.integers(-9999, 9999, (self.blocks, self.rows)).astype(np.int32)
        else:
            lhs = rng.standard_normal((self.blocks, self.rows, self.block)).astype(np.float32)
            starts = rng.standard_normal((self.blocks, self.rows)).astype(np.float32)
        arrays = [lhs, packed.view(np.int8), scales, starts]
        if self.whole:
            arrays.append(rng.standard_normal((self.blocks, self.rows)).astype(np.float32))
        arrays.append(np.full((self.rows, self.columns), np.nan, np.float32))
        kinds = {"float32": "f32", "int8": "i8", "int32": "i32"}
        types = [f"{'x'.join(map(str, a.shape))}x{kinds[str(a.dtype)]}" for a in arrays]
        names = ["%x", "%w", "%s", "%z", *(["%xs"] if self.whole else []), "%o"]
        text = TEXT.replace("SCALES", f"%xs: memref<{types[4]}>, " if self.whole else "")
        for old, new in {
            "<X>": f"<{types[0]}>",
            "<W>": f"<{types[1]}>",
            "<S>": f"<{types[2]}>",
            "<Z>": f"<{types[3]}>",
            "<O>": f"<{types[-1]}>",
            "NAMES": ", ".join(names),
            "BITS": str(self.bits),
            "COUNT": str(int(self.whole)),
            "TYPES": ", ".join(f"memref<{t}>" for t in types),
        }.items():
            text = text.replace(old, new)
        kernel(text, f"convert-matmul-nbits-to-vector{options}", arrays, machine=self.machine)
        expected, largest = self.expected(packed, arrays)
        np.testing.assert_allclose(arrays[-1], expected, rtol=0, atol=1e-6 * largest)

    def expected(self, packed: np.ndarray, arrays: list[np.ndarray]) -> tuple[np.ndarray, float]:
        """In float64, word by word as the op's text says; and the largest sum of absolute values."""
        lhs, _, scales, starts, *own, _ = (a.astype(np.float64) for a in arrays)
        total, largest = np.zeros((self.rows, self.columns)), 0.0
        per_word = 32 // self.bits
        lanes = packed.shape[2]
        for n in range(self.columns):
            panel, lane = divmod(n, lanes)
            for b in range(self.blocks):
                weights: list[int] = []
                for word in range(self.block // per_word):
                    four = packed[panel, b * self.block // per_word + word, lane]
                    for shift in range(0, 8, self.bits):
                        weights += [int(byte) >> shift & ((1 << self.bits) - 1) for byte in four]
                factor = scales[panel, b, lane] * (own[0][b] if self.whole else 1.0)
                total[:, n] += factor * (starts[b] + lhs[b] @ np.array(weights, float))
                parts = np.abs(starts[b]) + np.abs(lhs[b]) @ np.array(weights, float)
                largest = max(largest, float((np.abs(factor) * parts).max(initial=0)))
        return total, largest * self.blocks


def runs_here(name: str) -> bool:
    """Whether this machine has what that one needs."""
    return set(Machine.preset(name).features) <= set(Machine.host().features)


MACHINES = [
    pytest.param(name, marks=pytest.mark.skipif(not runs_here(name), reason=f"this machine is no {name}"))
    for name in ("x86-64", "x86-64-avx2", "x86-64-avx512")
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_bits(kernel: Kernel, bits: int, whole: bool, machine: str) -> None:
    for rows in (1, 3, 30):
        Case(rows, 37, bits=bits, whole=whole, machine=machine).run(kernel)


@pytest.mark.parametrize("whole", [False, True])
def test_rows_around_tiles(kernel: Kernel, whole: bool) -> None:
    for rows in (2, 5, 11, 12, 13, 14, 23, 25, 26, 27, 28, 39, 53):
        Case(rows, 33, blocks=2, whole=whole).run(kernel)


@pytest.mark.parametrize("whole", [False, True])
def test_columns_around_panels(kernel: Kernel, whole: bool) -> None:
    lanes = Machine.host().lanes(4)
    for columns in sorted({1, 2, 15, 16, 17, *(n * lanes + d for n in (1, 2, 8, 9, 16) for d in (-1, 0, 1))}):
        Case(1, columns, blocks=1, whole=whole).run(kernel)
    for columns in (lanes - 1, 2 * lanes - 1, 3 * lanes + 1, 4 * lanes):
        Case(29, columns, blocks=1, whole=whole).run(kernel)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("block", "blocks"), [(16, 1), (16, 7), (64, 3), (96, 2), (128, 2), (256, 17)])
def test_blocks(kernel: Kernel, block: int, blocks: int, whole: bool) -> None:
    for rows in (1, 28):
        Case(rows, 20, blocks, block, whole=whole).run(kernel)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("tile", [(1, 1), (1, 3), (4, 2), (5, 1)])
def test_given_tiles(kernel: Kernel, tile: tuple[int, int], whole: bool) -> None:
    for rows in (1, 9, 70):
        Case(rows, 90, whole=whole).run(kernel, f"{{rows={tile[0]} panels={tile[1]}}}")


def test_more_rows_than_one_thread_unpacks_for(kernel: Kernel) -> None:
    for rows in (16 * 13 + 5, 16 * 13 * 2, 24 * 8 - 1, 24 * 8 + 1, 24 * 8 * 2 + 9):
        Case(rows, 40, blocks=2).run(kernel)
        Case(rows, 70, blocks=2).run(kernel)
