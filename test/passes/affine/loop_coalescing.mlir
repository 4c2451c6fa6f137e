// RUN: lamina-opt %s -p affine-loop-coalescing | filecheck %s

// CHECK-LABEL: func.func @flat
// CHECK: affine.for %[[K:.*]] = 0 to 60 {
// CHECK-NEXT: affine.load %{{.*}}[%[[K]]] : memref<60xf32>
// CHECK-NEXT: affine.store %{{.*}}, %{{.*}}[%[[K]]] : memref<60xf32>
// CHECK-NOT: affine.for
// CHECK: func.return
func.func @flat(%x: memref<3x4x5xf32>, %y: memref<3x4x5xf32>) {
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 4 {
      affine.for %k = 0 to 5 {
        %v = affine.load %x[%i, %j, %k] : memref<3x4x5xf32>
        affine.store %v, %y[%i, %j, %k] : memref<3x4x5xf32>
      }
    }
  }
  func.return
}

// A bias along the last dimension stops at two loops; a shifted row only moves the start.
// CHECK-LABEL: func.func @bias
// CHECK: affine.for %[[R:.*]] = 0 to 12 {
// CHECK-NEXT: affine.for %[[C:.*]] = 0 to 5 {
// CHECK-NEXT: affine.load %{{.*}}[%[[R]], %[[C]]] : memref<12x5xf32>
// CHECK-NEXT: affine.load %b[%[[C]]] : memref<5xf32>
// CHECK: affine.store %{{.*}}, %{{.*}}[%[[R]] + 4, %[[C]]] : memref<16x5xf32>
func.func @bias(%x: memref<3x4x5xf32>, %b: memref<5xf32>, %y: memref<4x4x5xf32>) {
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 4 {
      affine.for %k = 0 to 5 {
        %v = affine.load %x[%i, %j, %k] : memref<3x4x5xf32>
        %w = affine.load %b[%k] : memref<5xf32>
        %s = arith.addf %v, %w : f32
        affine.store %s, %y[%i + 1, %j, %k] : memref<4x4x5xf32>
      }
    }
  }
  func.return
}

// Refused: a transposed access; a row that is not walked whole; a variable used as a number.
// CHECK-LABEL: func.func @refused
// CHECK-COUNT-6: affine.for
// CHECK-NOT: memref.collapse_shape
func.func @refused(%x: memref<3x4xf32>, %y: memref<4x3xf32>, %z: memref<3x5xf32>, %w: memref<3x4xindex>) {
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 4 {
      %v = affine.load %x[%i, %j] : memref<3x4xf32>
      affine.store %v, %y[%j, %i] : memref<4x3xf32>
    }
  }
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 4 {
      %v = affine.load %x[%i, %j] : memref<3x4xf32>
      affine.store %v, %z[%i, %j] : memref<3x5xf32>
    }
  }
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 4 {
      affine.store %j, %w[%i, %j] : memref<3x4xindex>
    }
  }
  func.return
}

// A sum over two short dimensions is one loop.
// CHECK-LABEL: func.func @sum
// CHECK: %[[S:.*]] = affine.for %[[K:.*]] = 0 to 49 iter_args(%[[A:.*]] = %{{.*}}) -> (f32) {
// CHECK-NEXT: %[[V:.*]] = affine.load %{{.*}}[%[[K]]] : memref<49xf32>
// CHECK-NEXT: %[[T:.*]] = arith.addf %[[A]], %[[V]]
// CHECK-NEXT: affine.yield %[[T]]
// CHECK: affine.store %[[S]], %y[]
func.func @sum(%x: memref<7x7xf32>, %y: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %s = affine.for %i = 0 to 7 iter_args(%a = %zero) -> (f32) {
    %t = affine.for %j = 0 to 7 iter_args(%b = %a) -> (f32) {
      %v = affine.load %x[%i, %j] : memref<7x7xf32>
      %u = arith.addf %b, %v : f32
      affine.yield %u : f32
    }
    affine.yield %t : f32
  }
  affine.store %s, %y[] : memref<f32>
  func.return
}

// Over long ones it stays two, and so does one whose rows are used between.
// CHECK-LABEL: func.func @long
// CHECK: affine.for %{{.*}} = 0 to 100
// CHECK: affine.for %{{.*}} = 0 to 100
// CHECK: affine.for %{{.*}} = 0 to 7
// CHECK: affine.for %{{.*}} = 0 to 7
func.func @long(%x: memref<100x100xf32>, %z: memref<7x7xf32>, %y: memref<2xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = affine.for %i = 0 to 100 iter_args(%a = %zero) -> (f32) {
    %t = affine.for %j = 0 to 100 iter_args(%b = %a) -> (f32) {
      %v = affine.load %x[%i, %j] : memref<100x100xf32>
      %u = arith.addf %b, %v : f32
      affine.yield %u : f32
    }
    affine.yield %t : f32
  }
  %r = affine.for %i = 0 to 7 iter_args(%a = %zero) -> (f32) {
    %t = affine.for %j = 0 to 7 iter_args(%b = %zero) -> (f32) {
      %v = affine.load %z[%i, %j] : memref<7x7xf32>
      %u = arith.maximumf %b, %v : f32
      affine.yield %u : f32
    }
    %w = arith.addf %a, %t : f32
    affine.yield %w : f32
  }
  affine.store %s, %y[0] : memref<2xf32>
  affine.store %r, %y[1] : memref<2xf32>
  func.return
}
