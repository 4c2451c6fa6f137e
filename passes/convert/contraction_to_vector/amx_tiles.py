"""Register tiles that are tiles of AMX: two of A times two of B into four of sums, then the epilogue row by row.

after (bfloat16, packed in panels of 32 columns and pairs along k):
    %sums:4 = affine.for %k = 0 to 1024 step 32 iter_args(...) -> (!amx.tile<16x16xf32>, ...) {
      %a0 = amx.tile_load %x[%row + %k], %x_stride : memref<131072xbf16> into !amx.tile<16x32xbf16>
      %a1 = ...                                                                          // the next 16 rows
      %b0 = amx.tile_load %w[%panel + %k * 32], %w_stride : ... into !amx.tile<16x32xbf16>
      %b1 = ...                                                                          // the next 16 columns
      %s00 = amx.tile_mulf %a0, %b0, %s ...
    amx.tile_store %s00, %y[...] ...
    affine.for %i = 0 to 32 { ... the epilogue on row %i, from memory ... }

The last rows, columns and part of k have smaller tiles. A is read in place: its rows must be evenly apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.machine import Machine
from ....dialects import amx
from ....dialects.amx.types import ROW_BYTES, ROWS
from ....dialects.linalg.views import flat_stride
from .analysis import Contraction, Kernel
from .groups import GroupWriter, is_unsigned
from .loops import D
from .spot import Columns, TilePlace
from .tile import k_levels

COLUMNS = ROW_BYTES // 4  # sums in a row of a tile
TILE_ROWS = 2 * ROWS
FEATURES = {2: "amx-bf16", 4: "amx-int8"}
