// RUN: lamina-opt %s --machine x86-64-avx2 -p affine-vectorize,affine-stream-stores | filecheck %s

// Two squares of 8 side by side: lines of 16 numbers, which go past the caches.
// CHECK-LABEL: func.func @large
// CHECK: affine.for %[[TJ:.*]] = 0 to 128 {
// CHECK: affine.for %[[TI:.*]] = 0 to 512 {
// CHECK-COUNT-16: affine.vector_load %x[%{{.*}}, %{{.*}}] : memref<2048x4096xf32>, vector<8xf32>
// CHECK-NOT: affine.vector_load
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] : vector<8xf32>, vector<8xf32>
// CHECK-COUNT-8: affine.vector_store %{{.*}} {nontemporal = 64 : i64} : memref<4096x2048xf32>, vector<16xf32>
// CHECK-NOT: nontemporal
func.func @large(%x: memref<2048x4096xf32>, %y: memref<4096x2048xf32>) {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 2048 {
      %a = affine.load %x[%j, %i] : memref<2048x4096xf32>
      affine.store %a, %y[%i, %j] : memref<4096x2048xf32>
    }
  }
  func.return
}

// What the caches hold is written by squares.
// CHECK-LABEL: func.func @small
// CHECK-NOT: vector<16xf32>
func.func @small(%x: memref<64x64xf32>, %y: memref<64x64xf32>) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %a = affine.load %x[%j, %i] : memref<64x64xf32>
      affine.store %a, %y[%i, %j] : memref<64x64xf32>
    }
  }
  func.return
}

// Rows that are no whole lines, too.
// CHECK-LABEL: func.func @odd
// CHECK-NOT: vector<16xf32>
func.func @odd(%x: memref<2056x4096xf32>, %y: memref<4096x2056xf32>) {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 2056 {
      %a = affine.load %x[%j, %i] : memref<2056x4096xf32>
      affine.store %a, %y[%i, %j] : memref<4096x2056xf32>
    }
  }
  func.return
}
