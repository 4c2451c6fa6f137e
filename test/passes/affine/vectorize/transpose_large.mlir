// RUN: lamina-opt %s --machine x86-64-avx512 -p affine-vectorize | filecheck %s

// Squares that are lines of a large result follow one another along its rows: TI counts squares down, TJ along them.
// CHECK-LABEL: func.func @large
// CHECK: affine.for %[[TI:.*]] = 0 to 256 {
// CHECK-NEXT: affine.for %[[TJ:.*]] = 0 to 128 {
// CHECK-DAG: %[[I:.*]] = affine.apply affine_map<(d0) -> ((d0 * 16))> (%[[TI]])
// CHECK-DAG: %[[J:.*]] = affine.apply affine_map<(d0) -> ((d0 * 16))> (%[[TJ]])
// CHECK: affine.vector_load %x[%[[J]], %[[I]]] : memref<2048x4096xf32>, vector<16xf32>
// CHECK: affine.vector_store %{{.*}}, %y[%[[I]], %[[J]]] : memref<4096x2048xf32>, vector<16xf32>
func.func @large(%x: memref<2048x4096xf32>, %y: memref<4096x2048xf32>) {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 2048 {
      %a = affine.load %x[%j, %i] : memref<2048x4096xf32>
      affine.store %a, %y[%i, %j] : memref<4096x2048xf32>
    }
  }
  func.return
}

// What the second cache holds goes along what is read.
// CHECK-LABEL: func.func @small
// CHECK: affine.for %[[TJ2:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[TI2:.*]] = 0 to 8 {
func.func @small(%x: memref<64x128xf32>, %y: memref<128x64xf32>) {
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 64 {
      %a = affine.load %x[%j, %i] : memref<64x128xf32>
      affine.store %a, %y[%i, %j] : memref<128x64xf32>
    }
  }
  func.return
}

// So do rows that end within a line.
// CHECK-LABEL: func.func @odd
// CHECK: affine.for %[[TJ3:.*]] = 0 to 129 {
// CHECK-NEXT: affine.for %[[TI3:.*]] = 0 to 256 {
func.func @odd(%x: memref<2056x4096xf32>, %y: memref<4096x2056xf32>) {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 2056 {
      %a = affine.load %x[%j, %i] : memref<2056x4096xf32>
      affine.store %a, %y[%i, %j] : memref<4096x2056xf32>
    }
  }
  func.return
}

// And short rows, which are next to each other as it is.
// CHECK-LABEL: func.func @short
// CHECK: affine.for %[[TJ4:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %[[TI4:.*]] = 0 to 1024 {
func.func @short(%x: memref<64x16384xf32>, %y: memref<16384x64xf32>) {
  affine.for %i = 0 to 16384 {
    affine.for %j = 0 to 64 {
      %a = affine.load %x[%j, %i] : memref<64x16384xf32>
      affine.store %a, %y[%i, %j] : memref<16384x64xf32>
    }
  }
  func.return
}
