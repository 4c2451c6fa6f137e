// RUN: lamina-opt %s -p affine-loop-unroll-jam | filecheck %s

// Rows of a matrix times a vector: four rows at once.
// CHECK-LABEL: func.func @rows
// CHECK: affine.for %i = 0 to 8 step 4 {
// CHECK-NEXT: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = affine.for %[[K:.*]] = 0 to 64
// CHECK: affine.load %x[%i, %[[K]]]
// CHECK-NEXT: affine.load %v[%[[K]]]
// CHECK: affine.load %x[%i + 3, %[[K]]]
// CHECK: affine.for %{{.*}} = 8 to 9 {
func.func @rows(%x: memref<9x64xf32>, %v: memref<64xf32>, %y: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 9 {
    %s = affine.for %k = 0 to 64 iter_args(%acc = %zero) -> (f32) {
      %l = affine.load %x[%i, %k] : memref<9x64xf32>
      %r = affine.load %v[%k] : memref<64xf32>
      %p = arith.mulf %l, %r : f32
      %t = arith.addf %acc, %p : f32
      affine.yield %t : f32
    }
    affine.store %s, %y[%i] : memref<9xf32>
  }
  func.return
}

// Left alone: a plain sum of rows, which shares nothing between them.
// CHECK-LABEL: func.func @plain
// CHECK: affine.for %i = 0 to 9 {
func.func @plain(%x: memref<9x64xf32>, %y: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 9 {
    %s = affine.for %k = 0 to 64 iter_args(%acc = %zero) -> (f32) {
      %l = affine.load %x[%i, %k] : memref<9x64xf32>
      %t = arith.addf %acc, %l : f32
      affine.yield %t : f32
    }
    affine.store %s, %y[%i] : memref<9xf32>
  }
  func.return
}

// Left alone: rows too short to wait for.
// CHECK-LABEL: func.func @short
// CHECK: affine.for %i = 0 to 9 {
func.func @short(%x: memref<9x16xf32>, %v: memref<16xf32>, %y: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 9 {
    %s = affine.for %k = 0 to 16 iter_args(%acc = %zero) -> (f32) {
      %l = affine.load %x[%i, %k] : memref<9x16xf32>
      %r = affine.load %v[%k] : memref<16xf32>
      %p = arith.mulf %l, %r : f32
      %t = arith.addf %acc, %p : f32
      affine.yield %t : f32
    }
    affine.store %s, %y[%i] : memref<9xf32>
  }
  func.return
}
