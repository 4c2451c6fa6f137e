// Two stores to one buffer that never meet in different rounds are no obstacle; that they might is one.
// RUN: lamina-opt %s -p affine-vectorize | filecheck %s
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-2: affine.vector_store
func.func @apart(%x: memref<64xf32>, %y: memref<128xf32>) {
  affine.for %i = 0 to 64 {
    %v = affine.load %x[%i] : memref<64xf32>
    affine.store %v, %y[%i] : memref<128xf32>
    affine.store %v, %y[%i + 64] : memref<128xf32>
  }
  func.return
}
// CHECK-LABEL: func.func @meeting
// CHECK-NOT: affine.vector_store
func.func @meeting(%x: memref<64xf32>, %y: memref<128xf32>) {
  affine.for %i = 0 to 64 {
    %v = affine.load %x[%i] : memref<64xf32>
    affine.store %v, %y[%i] : memref<128xf32>
    affine.store %v, %y[%i + 63] : memref<128xf32>
  }
  func.return
}
