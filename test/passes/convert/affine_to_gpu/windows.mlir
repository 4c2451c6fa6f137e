// RUN: lamina-opt %s -p convert-affine-to-gpu | filecheck %s

// Windows of 3x3 overlap: 48 blocks take tiles, the last ones of an image not whole; what points of a tile read is in shared memory, as are the weights.
func.func private @windows(%x: memref<58x58x128xf32>, %w: memref<3x3x128xf32>, %y: memref<56x56x128xf32>) attributes {lamina.kernel = "depthwise"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j, %c) = (0, 0, 0) to (56, 56, 128) {
    %s = affine.for %u = 0 to 3 iter_args(%a = %zero) -> (f32) {
      %t = affine.for %v = 0 to 3 iter_args(%b = %a) -> (f32) {
        %l = affine.load %x[%i + %u, %j + %v, %c] : memref<58x58x128xf32>
        %r = affine.load %w[%u, %v, %c] : memref<3x3x128xf32>
        %p = arith.mulf %l, %r : f32
        %d = arith.addf %b, %p : f32
        affine.yield %d : f32
      }
      affine.yield %t : f32
    }
    affine.store %s, %y[%i, %j, %c] : memref<56x56x128xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @windows(
// CHECK: gpu.launch_func @windows_0({{.*}}) {blocks = array<i64: 48, 1, 1>, threads = array<i64: 512, 1, 1>}
// CHECK: func.func private @windows_0(
// CHECK: gpu.dynamic_shared_memory : memref<42976xi8, 3 : i32>
// CHECK: memref.view {{.*}} to memref<58x23x8xf32, 3 : i32>
// CHECK: memref.view {{.*}} to memref<3x3x8xf32, 3 : i32>
// CHECK: affine.for {{.*}} = 0 to 21
// CHECK: affine.if affine_set<(d0, d1, d2) : (((d0 * -1) + 10671) >= 0, ((d1 * -1) + 20) >= 0, ((d2 * -1) + 57) >= 0)>
// CHECK: affine.load %x{{.*}} : memref<58x58x128xf32>
// CHECK-NEXT: affine.store {{.*}} : memref<58x23x8xf32, 3 : i32>
// CHECK: gpu.barrier
// CHECK: affine.for {{.*}} = 0 to 17
// CHECK: affine.load {{.*}} : memref<58x23x8xf32, 3 : i32>
// CHECK: affine.load {{.*}} : memref<3x3x8xf32, 3 : i32>
// CHECK: affine.store {{.*}} : memref<56x56x128xf32>

// Pads come in with the tile; a tile that the points do not fill has conditions.
// CHECK-LABEL: func.func private @padded(
func.func private @padded(%x: memref<61x7x24xf32>, %y: memref<61x7x24xf32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j, %c) = (0, 0, 0) to (61, 7, 24) {
    %s = affine.for %u = 0 to 9 iter_args(%b = %zero) -> (f32) {
      %p = affine.apply affine_map<(d0, d1) -> (d0 + d1)> (%i, %u)
      %l = affine.if affine_set<(d0) : (d0 - 4 >= 0, -d0 + 64 >= 0)> (%p) -> (f32) {
        %v = affine.load %x[%p - 4, %j, %c] : memref<61x7x24xf32>
        affine.yield %v : f32
      } else {
        affine.yield %zero : f32
      }
      %d = arith.addf %b, %l : f32
      affine.yield %d : f32
    }
    affine.store %s, %y[%i, %j, %c] : memref<61x7x24xf32>
  }
  func.return
}
// CHECK: [[V:%.*]] = affine.if affine_set<(d0) : ((d0 + -4) >= 0, ((d0 * -1) + 64) >= 0)>
// CHECK: affine.load %x
// CHECK: affine.store [[V]], %{{.*}}, 3 : i32>
// CHECK: gpu.barrier
// CHECK: affine.for {{.*}} = 0 to 9
// CHECK-NOT: affine.if
// CHECK: affine.load {{.*}}, 3 : i32>
// CHECK: arith.addf

// Windows side by side have nothing in common.
// CHECK-LABEL: func.func private @apart(
func.func private @apart(%x: memref<64x64x32xf32>, %y: memref<32x64x32xf32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j, %c) = (0, 0, 0) to (32, 64, 32) {
    %s = affine.for %u = 0 to 2 iter_args(%b = %zero) -> (f32) {
      %l = affine.load %x[%i * 2 + %u, %j, %c] : memref<64x64x32xf32>
      %d = arith.addf %b, %l : f32
      affine.yield %d : f32
    }
    affine.store %s, %y[%i, %j, %c] : memref<32x64x32xf32>
  }
  func.return
}
// CHECK-NOT: gpu.dynamic_shared_memory

// Windows that step by two: four neighbouring points would ask two banks twice, but for places that are exchanged where
// an odd number of 32 words lies before them. So neither they do, whichever part of a window they are at, nor what
// brings the tile.
func.func private @stepped(%x: memref<33x33x8xf32>, %y: memref<16x16x8xf32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j, %c) = (0, 0, 0) to (16, 16, 8) {
    %s = affine.for %u = 0 to 3 iter_args(%a = %zero) -> (f32) {
      %t = affine.for %v = 0 to 3 iter_args(%b = %a) -> (f32) {
        %l = affine.load %x[%i * 2 + %u, %j * 2 + %v, %c] : memref<33x33x8xf32>
        %d = arith.addf %b, %l : f32
        affine.yield %d : f32
      }
      affine.yield %t : f32
    }
    affine.store %s, %y[%i, %j, %c] : memref<16x16x8xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @stepped(
// CHECK: [[P:%.*]] = affine.apply affine_map<(d0, d1, d2) -> ((((d0 * 136) + (d1 * 8)) + d2))>
// CHECK-NEXT: [[M:%.*]] = arith.constant 32 : index
// CHECK-NEXT: [[ODD:%.*]] = arith.andi [[P]], [[M]] : index
// CHECK-NEXT: [[BY:%.*]] = arith.constant 2 : index
// CHECK-NEXT: [[EIGHT:%.*]] = arith.shrui [[ODD]], [[BY]] : index
// CHECK-NEXT: [[Q:%.*]] = arith.xori [[P]], [[EIGHT]] : index
// CHECK-NEXT: affine.store {{.*}}[[Q]]] : memref<4512xf32, 3 : i32>
// CHECK: gpu.barrier
// CHECK: [[R:%.*]] = affine.apply affine_map<(d0, d1, d2, d3, d4) -> ((((((d0 * 272) + (d1 * 136)) + (d2 * 16)) + (d3 * 8)) + d4))>
// CHECK: [[T:%.*]] = arith.xori [[R]], %{{.*}} : index
// CHECK-NEXT: affine.load {{.*}}[[T]]] : memref<4512xf32, 3 : i32>

// A part that tests run of a kernel with eight times as many channels has its tiles, though its blocks are few; alone
// it has smaller ones.
// CHECK-LABEL: func.func private @part(
// CHECK: gpu.launch_func @part_0({{.*}}) {blocks = array<i64: 6, 1, 1>
// CHECK-LABEL: func.func private @part_0(
// CHECK-NOT: gpu.times
// CHECK: func.func private @alone(
// CHECK: gpu.launch_func @alone_0({{.*}}) {blocks = array<i64: 12, 1, 1>, threads = array<i64: 512, 1, 1>}
func.func private @part(%x: memref<58x58x16xf32>, %y: memref<56x56x16xf32>) attributes {lamina.kernel = "depthwise", gpu.times = 8 : i64} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j, %c) = (0, 0, 0) to (56, 56, 16) {
    %s = affine.for %u = 0 to 3 iter_args(%a = %zero) -> (f32) {
      %t = affine.for %v = 0 to 3 iter_args(%b = %a) -> (f32) {
        %l = affine.load %x[%i + %u, %j + %v, %c] : memref<58x58x16xf32>
        %d = arith.addf %b, %l : f32
        affine.yield %d : f32
      }
      affine.yield %t : f32
    }
    affine.store %s, %y[%i, %j, %c] : memref<56x56x16xf32>
  }
  func.return
}
func.func private @alone(%x: memref<58x58x16xf32>, %y: memref<56x56x16xf32>) attributes {lamina.kernel = "depthwise"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j, %c) = (0, 0, 0) to (56, 56, 16) {
    %s = affine.for %u = 0 to 3 iter_args(%a = %zero) -> (f32) {
      %t = affine.for %v = 0 to 3 iter_args(%b = %a) -> (f32) {
        %l = affine.load %x[%i + %u, %j + %v, %c] : memref<58x58x16xf32>
        %d = arith.addf %b, %l : f32
        affine.yield %d : f32
      }
      affine.yield %t : f32
    }
    affine.store %s, %y[%i, %j, %c] : memref<56x56x16xf32>
  }
  func.return
}

// What a window is multiplied with may be one number, in shared memory like everything that points have in common.
// CHECK-LABEL: func.func private @one(
// CHECK: memref.view {{.*}} to memref<f32, 3 : i32>
func.func private @one(%x: memref<18x18x8xf32>, %w: memref<f32>, %y: memref<16x16x8xf32>) attributes {lamina.kernel = "depthwise"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j, %c) = (0, 0, 0) to (16, 16, 8) {
    %s = affine.for %u = 0 to 3 iter_args(%a = %zero) -> (f32) {
      %t = affine.for %v = 0 to 3 iter_args(%b = %a) -> (f32) {
        %l = affine.load %x[%i + %u, %j + %v, %c] : memref<18x18x8xf32>
        %r = affine.load %w[] : memref<f32>
        %p = arith.mulf %l, %r : f32
        %d = arith.addf %b, %p : f32
        affine.yield %d : f32
      }
      affine.yield %t : f32
    }
    affine.store %s, %y[%i, %j, %c] : memref<16x16x8xf32>
  }
  func.return
}

// A small image is a block's, all of it, for as many channels as are a sector: it would wait for its launch in any case.
// Pads do not count; what a tile would read around it does.
// CHECK-LABEL: func.func private @small(
// CHECK: gpu.launch_func @small_0({{.*}}) {blocks = array<i64: 4, 1, 1>, threads = array<i64: 512, 1, 1>}
// CHECK: memref.view {{.*}} to memref<14x14x8xf32, 3 : i32>
func.func private @small(%x: memref<12x12x32xf32>, %y: memref<12x12x32xf32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j, %c) = (0, 0, 0) to (12, 12, 32) {
    %s = affine.for %u = 0 to 3 iter_args(%a = %zero) -> (f32) {
      %t = affine.for %v = 0 to 3 iter_args(%b = %a) -> (f32) {
        %p = affine.apply affine_map<(d0, d1) -> (d0 + d1)> (%i, %u)
        %q = affine.apply affine_map<(d0, d1) -> (d0 + d1)> (%j, %v)
        %l = affine.if affine_set<(d0, d1) : (d0 - 1 >= 0, -d0 + 12 >= 0, d1 - 1 >= 0, -d1 + 12 >= 0)> (%p, %q) -> (f32) {
          %e = affine.load %x[%p - 1, %q - 1, %c] : memref<12x12x32xf32>
          affine.yield %e : f32
        } else {
          affine.yield %zero : f32
        }
        %d = arith.addf %b, %l : f32
        affine.yield %d : f32
      }
      affine.yield %t : f32
    }
    affine.store %s, %y[%i, %j, %c] : memref<12x12x32xf32>
  }
  func.return
}
