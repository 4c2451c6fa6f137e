// RUN: lamina-opt %s -p 'affine-loop-unroll-jam{factor=2}' | filecheck %s

// CHECK-LABEL: func.func @sums
// CHECK: affine.for %i = 0 to 8 step 2 {
// CHECK-NEXT: %[[S:.*]], %[[T:.*]] = affine.for %[[K:.*]] = 0 to 64 iter_args(%{{.*}} = %zero, %{{.*}} = %zero) -> (f32, f32) {
// CHECK-NEXT: affine.load %x[%i, %[[K]]]
// CHECK: affine.load %x[%i + 1, %[[K]]]
// CHECK: affine.store %[[S]], %y[%i]
// CHECK: affine.store %[[T]], %y[%i + 1]
// CHECK: affine.for %{{.*}} = 8 to 9 {
func.func @sums(%x: memref<9x64xf32>, %y: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 9 {
    %s = affine.for %k = 0 to 64 iter_args(%acc = %zero) -> (f32) {
      %v = affine.load %x[%i, %k] : memref<9x64xf32>
      %t = arith.addf %acc, %v : f32
      affine.yield %t : f32
    }
    affine.store %s, %y[%i] : memref<9xf32>
  }
  func.return
}

// Refused: an iteration reads what the one before wrote further on.
// CHECK-LABEL: func.func @refused
// CHECK: affine.for %i = 1 to 9 {
func.func @refused(%x: memref<10x64xf32>) {
  affine.for %i = 1 to 9 {
    affine.for %k = 0 to 63 {
      %v = affine.load %x[%i - 1, %k + 1] : memref<10x64xf32>
      affine.store %v, %x[%i, %k] : memref<10x64xf32>
    }
  }
  func.return
}
