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

// What is contiguous in the source goes next to what is contiguous in the result: squares can be turned.
// CHECK-LABEL: func.func @turned
// CHECK: affine.for %[[J:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[I:.*]] = 0 to 9 {
// CHECK-NEXT: affine.for %[[K:.*]] = 0 to 8 {
// CHECK-NEXT: affine.load %x[%[[K]], %[[J]], %[[I]]]
func.func @turned(%x: memref<8x4x9xf32>, %y: memref<9x4x8xf32>) {
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 4 {
      affine.for %k = 0 to 8 {
        %v = affine.load %x[%k, %j, %i] : memref<8x4x9xf32>
        affine.store %v, %y[%i, %j, %k] : memref<9x4x8xf32>
      }
    }
  }
  func.return
}
