"""convert-accel-to-tile: layers become kernels of tiles, images places in DRAM.

    %1 = accel.conv %0, %w, %t {...} : tensor<1x56x56x64xi8>, ... -> tensor<1x56x56x64xi8>
    ->
    func.func private @systolic_1(tensor<...>) -> tensor<...> attributes {systolic.inputs = [...], ...}
    func.func private @systolic_1_program(%dram: memref<802816xi8, "dram">) {
      %x = memref.view %dram[%c0][] : memref<802816xi8, "dram"> to memref<56x3584xi8, "dram">
      func.call @conv_0(%x, %w, %t, %y)
      ...
    }
    func.func private @conv_0(...) attributes {systolic.machine = "gemmini16", tile.rings = {...}} { ... }

Layers that are alike share a kernel. What enters and leaves a part is said on its declaration: the first byte and the
shape of each image; so are the constants.
"""

from .driver import ConvertAccelToTile

__all__ = ["ConvertAccelToTile"]
