// RUN: lamina-opt %s -p gpu-widen-points | filecheck %s

// Four floats at a time; what stands still along the row is loaded once for all four.
// CHECK-LABEL: func.func @bias
// CHECK: affine.parallel (%[[I:.*]], %[[J:.*]]) = (0, 0) to (6, 16) {
// CHECK: affine.vector_load %{{.*}}[%[[I]] * 64 + %[[J]] * 4] {alignment = 16 : i64} : memref<384xf32>, vector<4xf32>
// CHECK: %[[B:.*]] = affine.load %b[%[[I]]] : memref<6xf32>
// CHECK: vector.broadcast %[[B]] : f32 to vector<4xf32>
// CHECK: affine.vector_store
func.func @bias(%x: memref<6x64xf32>, %b: memref<6xf32>, %y: memref<6x64xf32>) {
  affine.parallel (%i) = (0) to (6) {
    affine.parallel (%j) = (0) to (64) {
      %a = affine.load %x[%i, %j] : memref<6x64xf32>
      %c = affine.load %b[%i] : memref<6xf32>
      %s = arith.addf %a, %c : f32
      affine.store %s, %y[%i, %j] : memref<6x64xf32>
    }
  }
  func.return
}

// All dimensions are one when every access walks them so: 7 x 8 bytes of an odd shape, eight halves at a time.
// CHECK-LABEL: func.func @flat
// CHECK: affine.parallel (%[[I:.*]]) = (0) to (7) {
// CHECK: affine.vector_load %{{.*}}[%[[I]] * 8] {alignment = 16 : i64} : memref<56xf16>, vector<8xf16>
func.func @flat(%x: memref<8x7xf16>, %y: memref<8x7xf16>) {
  affine.parallel (%i) = (0) to (8) {
    affine.parallel (%j) = (0) to (7) {
      %a = affine.load %x[%i, %j] : memref<8x7xf16>
      affine.store %a, %y[%i, %j] : memref<8x7xf16>
    }
  }
  func.return
}

// A transpose, and an odd number of points, stay.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: vector
func.func @stay(%x: memref<8x4xf32>, %y: memref<4x8xf32>, %z: memref<9xf32>) {
  affine.parallel (%i) = (0) to (4) {
    affine.parallel (%j) = (0) to (8) {
      %a = affine.load %x[%j, %i] : memref<8x4xf32>
      affine.store %a, %y[%i, %j] : memref<4x8xf32>
    }
  }
  affine.parallel (%i) = (0) to (9) {
    %a = affine.load %z[%i] : memref<9xf32>
    affine.store %a, %z[%i] : memref<9xf32>
  }
  func.return
}

// What a factor lies along is another dimension than the result's: points stay, to take it from shared memory.
// CHECK-LABEL: func.func @scaled
// CHECK-NOT: vector
func.func @scaled(%x: memref<9x64xf32>, %b: memref<9x4xf32>, %y: memref<64x9x4xf32>) {
  affine.parallel (%i, %j, %k) = (0, 0, 0) to (64, 9, 4) {
    %a = affine.load %x[%j, %i] : memref<9x64xf32>
    %c = affine.load %b[%j, %k] : memref<9x4xf32>
    %m = arith.mulf %a, %c : f32
    affine.store %m, %y[%i, %j, %k] : memref<64x9x4xf32>
  }
  func.return
}
