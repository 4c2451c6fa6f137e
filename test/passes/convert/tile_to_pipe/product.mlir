// RUN: lamina-opt %s | lamina-opt | filecheck %s --check-prefix=SAME
// RUN: lamina-opt %s -p 'convert-tile-to-pipe' | filecheck %s
// RUN: lamina-opt %s -p 'convert-tile-to-pipe' | lamina-opt | filecheck %s
// RUN: lamina-opt %s -p 'convert-tile-to-pipe,convert-pipe-to-systolic' | filecheck %s --check-prefix=ISA

// [8, 4] times [4, 4] on a 4x4 array, in two tiles: the weights stay, the second patch goes into the slot of the first.
// SAME: tile.patch %x[%{{.*}}, %{{.*}}] in "a"
// SAME: tile.contract
func.func private @product(%x: memref<1x32xi8, "dram">, %w: memref<1x1x1x4x4xi8, "dram">, %t: memref<1x4x2xi32, "dram">, %y: memref<1x8x4xi8, "dram">)
    attributes {systolic.machine = "tiny4", tile.rings = {a = ["spm", array<i64: 0, 4, 1>], w = ["spm", array<i64: 4, 4, 1>], c = ["acc", array<i64: 0, 4, 2>], t = ["tab", array<i64: 0, 1, 1>]}} {
  %c0 = arith.constant 0 : index
  affine.for %m = 0 to 8 step 4 {
    %c = tile.sums in "c" : memref<1x1x4x4xi32, "acc">
    %b = affine.apply affine_map<(d0) -> (d0 * 4)>(%m)
    %p = tile.patch %x[%c0, %b] in "a" {steps = array<i64: 1, 4>, block = 4 : i64, run = 4 : i64, pad = 0 : i8} : memref<1x32xi8, "dram"> -> memref<1x1x4x4xi8, "spm">
    %v = tile.load %w[%c0, %c0] in "w" : memref<1x1x1x4x4xi8, "dram"> -> memref<1x1x4x4xi8, "spm">
    tile.contract %p, %v, %c[%c0] {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} : memref<1x1x4x4xi8, "spm">, memref<1x1x4x4xi8, "spm">, memref<1x1x4x4xi32, "acc">
    %s = tile.load %t[%c0] in "t" : memref<1x4x2xi32, "dram"> -> memref<4x2xi32, "tab">
    tile.store %c[%c0] by %s to %y[%c0, %m, %c0] {len = 4 : i64, post = array<i64: 4, -128, 127>} : memref<1x1x4x4xi32, "acc"> by memref<4x2xi32, "tab"> to memref<1x8x4xi8, "dram">
  }
  func.return
}

// CHECK:      pipe.stream @product for "tiny4" {
// CHECK:        %[[X:.*]] = pipe.ld to=spm dst=0x0 src=0x0+r1 n0=4 len=4
// CHECK:        %[[W:.*]] = pipe.ld to=spm dst=0x4 src=0x0+r2 n0=4 len=4
// CHECK:        %[[T:.*]] = pipe.ld to=tab dst=0x0 src=0x0+r3 n0=1 len=4
// CHECK-NEXT:   %{{.*}} = pipe.wl after(%[[W]]) src=0x4 rows=4
// CHECK-NEXT:   %[[M:.*]] = pipe.mm after(%[[X]]) a=0x0 acc=0x0 n0=4 swap
// The load of the second tile is dispatched as soon as the first was read.
// CHECK-NEXT:   %[[X2:.*]] = pipe.ld after(%[[M]]) to=spm dst=0x0 src=0x10+r1
// CHECK:        %{{.*}} = pipe.st after(%[[M]], %[[T]]) source=acc src=0x0 to=dram dst=0x0+r4
// CHECK-NEXT:   %{{.*}} = pipe.wl after(%[[W]]) src=0x4 rows=4
// CHECK-NEXT:   %[[M2:.*]] = pipe.mm after(%[[X2]]) a=0x0 acc=0x4 n0=4 swap
// CHECK-NEXT:   %{{.*}} = pipe.st after(%[[M2]], %[[T]]) source=acc src=0x4 to=dram dst=0x10+r4

// The weights and the table are waited for once.
// ISA:      systolic.program @product for "tiny4" {
// ISA:        systolic.ld to=spm dst=0x0 src=0x0+r1 n0=4 len=4 stride=0 signal(1)
// ISA:        systolic.ld to=spm dst=0x4 src=0x0+r2 n0=4 len=4 stride=0 signal(0)
// ISA:        systolic.ld to=tab {{.*}} signal(3)
// ISA-NEXT:   systolic.wl src=0x4 rows=4 wait(0)
// ISA-NEXT:   systolic.mm a=0x0 acc=0x0 n0=4 swap wait(1) signal(5, 8)
// ISA-NEXT:   systolic.ld to=spm dst=0x0 src=0x10+r1 n0=4 len=4 stride=0 wait(5) signal(1)
// ISA:        systolic.st {{.*}} wait(3, 8)
// ISA-NEXT:   systolic.wl src=0x4 rows=4
// ISA-NEXT:   systolic.mm a=0x0 acc=0x4 n0=4 swap wait(1) signal(8)
// ISA-NEXT:   systolic.st {{.*}} wait(8)
// ISA-NEXT:   systolic.halt
