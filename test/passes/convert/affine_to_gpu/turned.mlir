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
