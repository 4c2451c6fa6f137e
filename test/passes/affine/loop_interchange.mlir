// RUN: lamina-opt %s -p affine-loop-interchange | filecheck %s

// CHECK-LABEL: func.func @transposed
// CHECK: affine.for %j = 0 to 9 {
// CHECK-NEXT: affine.for %i = 0 to 8 {
// CHECK-NEXT: affine.load %x[%j, %i]
func.func @transposed(%x: memref<9x8xf32>, %y: memref<9x8xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 9 {
      %v = affine.load %x[%j, %i] : memref<9x8xf32>
      affine.store %v, %y[%j, %i] : memref<9x8xf32>
    }
  }
  func.return
}

// Refused: (1, -1) would become (-1, 1).
// CHECK-LABEL: func.func @wavefront
// CHECK: affine.for %i = 1 to 8 {
// CHECK-NEXT: affine.for %j = 0 to 7 {
func.func @wavefront(%x: memref<9x8xf32>) {
  affine.for %i = 1 to 8 {
    affine.for %j = 0 to 7 {
      %v = affine.load %x[%j + 1, %i - 1] : memref<9x8xf32>
      affine.store %v, %x[%j, %i] : memref<9x8xf32>
    }
  }
  func.return
}
