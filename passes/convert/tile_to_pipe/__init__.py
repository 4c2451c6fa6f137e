"""convert-tile-to-pipe: loops over tiles become instructions, in the order in which they are best dispatched.

    affine.for %m = 0 to 128 step 64 {
      %p = tile.patch %x[%c0, %b] in "a" ...
      tile.contract %p, %w, %c[%c0] ...
    }
    ->
    %0 = pipe.ld to=spm dst=0x0 src=0x0+r1 n0=64 len=16 stride=0
    %1 = pipe.wl after(%5) src=0x400 rows=16
    %2 = pipe.mm after(%0) a=0x0 acc=0x0 n0=64 swap
    %3 = pipe.ld to=spm dst=0x40 src=0x400+r1 n0=64 len=16 stride=0
    %4 = pipe.ld after(%2) to=spm dst=0x0 ...                        (the slot is free again)

A piece that still lies in its ring is not loaded again. Loads run ahead of what reads them by as many instructions as
the queue of their unit holds, but not before their slot is free.
"""

from .driver import ConvertTileToPipe

__all__ = ["ConvertTileToPipe"]
