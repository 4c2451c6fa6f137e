// RUN: lamina-opt %s --split-input-file -p convert-affine-to-gpu | filecheck %s

// Tiles of 32 x 32 go through shared memory: 33 apart there, neighbours of the source and of the result side by side.
// CHECK-LABEL: func.func private @transpose
// CHECK-NEXT: gpu.launch_func @transpose_0(%x, %y) {blocks = array<i64: 48, 1, 1>, threads = array<i64: 256, 1, 1>}
// CHECK-LABEL: func.func private @transpose_0
// CHECK: gpu.dynamic_shared_memory : memref<4224xi8, 3 : i32>
// CHECK: affine.for %{{.*}} = 0 to 4 {
// CHECK: affine.load %x[%{{.*}}, %{{.*}}] : memref<256x192xf32>
// CHECK-NEXT: affine.store %{{.*}}, %{{.*}}[%{{.*}} * 33 + {{.*}}] : memref<1056xf32, 3 : i32>
// CHECK: gpu.barrier
// CHECK: affine.load %{{.*}}[%{{.*}} * 33 + {{.*}}] : memref<1056xf32, 3 : i32>
func.func private @transpose(%x: memref<256x192xf32>, %y: memref<192x256xf32>) attributes {lamina.kernel = "copy"} {
  affine.parallel (%i) = (0) to (192) {
    affine.parallel (%j) = (0) to (256) {
      %v = affine.load %x[%j, %i] : memref<256x192xf32>
      affine.store %v, %y[%i, %j] : memref<192x256xf32>
    }
  }
  func.return
}

// -----

// Rows of the result that are no whole sectors are written as a whole, some of them by each block.
// CHECK-LABEL: func.func private @rows_0
// CHECK: affine.load %x[%{{.*}}, %{{.*}}] : memref<49x256xf32>
// CHECK-NEXT: affine.store %{{.*}}, %{{.*}}[%{{.*}} * 49 + {{.*}}] : memref<2401xf32, 3 : i32>
func.func private @rows(%x: memref<49x256xf32>, %y: memref<256x49xf32>) attributes {lamina.kernel = "copy"} {
  affine.parallel (%i, %j) = (0, 0) to (256, 49) {
    %v = affine.load %x[%j, %i] : memref<49x256xf32>
    affine.store %v, %y[%i, %j] : memref<256x49xf32>
  }
  func.return
}

// -----

// What odd rows have in common comes once for a block's rows; what is read around is there 31 numbers further, for warps
// that go on from one row to the next.
// CHECK-LABEL: func.func private @odd_0
// CHECK: [[ROW:%.*]] = memref.view {{.*}} to memref<100xf32, 3 : i32>
// CHECK: [[AGAIN:%.*]] = affine.apply affine_map<(d0) -> ((d0 mod 69))>
// CHECK: affine.load %v
// CHECK-NEXT: affine.store %{{.*}}, [[ROW]]
// CHECK: gpu.barrier
// CHECK: [[AT:%.*]] = affine.apply affine_map<(d0, d1) -> ((((d0 + ((d1 mod 32) * -1)) mod 69) + (d1 mod 32)))>
// CHECK: affine.load %x
// CHECK: affine.load [[ROW]]{{\[}}[[AT]]]
func.func private @odd(%x: memref<256x69xf32>, %g: memref<256xf32>, %v: memref<69xf32>, %y: memref<256x69xf32>) attributes {lamina.kernel = "loops"} {
  affine.parallel (%i, %j) = (0, 0) to (256, 69) {
    %a = affine.load %x[%i, %j] : memref<256x69xf32>
    %b = affine.load %g[%i] : memref<256xf32>
    %c = affine.load %v[%j] : memref<69xf32>
    %d = arith.mulf %a, %b : f32
    %e = arith.addf %d, %c : f32
    affine.store %e, %y[%i, %j] : memref<256x69xf32>
  }
  func.return
}

// -----

// Numbers between which others of the same source lie come with these.
// CHECK-LABEL: func.func private @pairs_0
// CHECK-COUNT-1: affine.load %x[%{{.*}}, %{{.*}}] : memref<64x64xf32>
// CHECK: gpu.barrier
// CHECK: affine.apply affine_map<(d0, d1) -> (((d0 * 64) + (d1 * 2)))>
// CHECK: affine.store %{{.*}}, %y[0, %{{.*}}, %{{.*}}]
// CHECK: affine.apply affine_map<(d0, d1) -> ((((d0 * 64) + (d1 * 2)) + 1))>
// CHECK: affine.store %{{.*}}, %y[1, %{{.*}}, %{{.*}}]
func.func private @pairs(%x: memref<64x64xf32>, %y: memref<2x64x32xf32>) attributes {lamina.kernel = "loops"} {
  affine.parallel (%i, %j) = (0, 0) to (64, 32) {
    %a = affine.load %x[%i, %j * 2] : memref<64x64xf32>
    affine.store %a, %y[0, %i, %j] : memref<2x64x32xf32>
    %b = affine.load %x[%i, %j * 2 + 1] : memref<64x64xf32>
    affine.store %b, %y[1, %i, %j] : memref<2x64x32xf32>
  }
  func.return
}
