// RUN: lamina-opt %s -p convert-affine-to-gpu | filecheck %s

// Tiles of 32 x 32 go through shared memory: 33 apart there, neighbours of the source and of the result side by side.
// CHECK-LABEL: func.func private @transpose
// CHECK-NEXT: gpu.launch_func @transpose_0(%x, %y) {blocks = array<i64: 6, 1, 1>, threads = array<i64: 256, 1, 1>}
// CHECK-LABEL: func.func private @transpose_0
// CHECK: gpu.dynamic_shared_memory : memref<4224xi8, 3 : i32>
// CHECK-COUNT-4: affine.store %{{.*}}, %{{.*}}[%{{.*}} * 33 + {{.*}} : memref<1056xf32, 3 : i32>
// CHECK: gpu.barrier
// CHECK-COUNT-4: affine.load %{{.*}}[%{{.*}} * 33 + {{.*}}] : memref<1056xf32, 3 : i32>
func.func private @transpose(%x: memref<96x64xf32>, %y: memref<64x96xf32>) attributes {lamina.kernel = "copy"} {
  affine.parallel (%i) = (0) to (64) {
    affine.parallel (%j) = (0) to (96) {
      %v = affine.load %x[%j, %i] : memref<96x64xf32>
      affine.store %v, %y[%i, %j] : memref<64x96xf32>
    }
  }
  func.return
}
