// RUN: lamina-opt %s -p 'affine-parallelize{cores=4}' | filecheck %s
// RUN: lamina-opt %s -p 'affine-parallelize{cores=1}' | filecheck %s --check-prefix=ONE

// A flat loop is cut into chunks, with a rest.
// CHECK-LABEL: func.func @flat
// CHECK: affine.parallel (%[[T:.*]]) = (0) to (6) {
// CHECK-NEXT: affine.for %[[I:.*]] = 0 to 16384 {
// CHECK-NEXT: affine.load %x[%[[T]] * 16384 + %[[I]]] : memref<100000xf32>
// CHECK: affine.for %[[R:.*]] = 98304 to 100000 {
// CHECK-NEXT: affine.load %x[%[[R]]] : memref<100000xf32>
func.func @flat(%x: memref<100000xf32>, %y: memref<100000xf32>) {
  affine.for %i = 0 to 100000 {
    %v = affine.load %x[%i] : memref<100000xf32>
    affine.store %v, %y[%i] : memref<100000xf32>
  }
  func.return
}

// Few rows: the next loop comes along.
// CHECK-LABEL: func.func @two
// CHECK: affine.parallel (%[[I:.*]], %[[J:.*]]) = (0, 0) to (4, 64) {
// CHECK-NEXT: affine.for
func.func @two(%x: memref<4x64x512xf32>, %y: memref<512x64x4xf32>) {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 512 {
        %v = affine.load %x[%i, %j, %k] : memref<4x64x512xf32>
        affine.store %v, %y[%k, %j, %i] : memref<512x64x4xf32>
      }
    }
  }
  func.return
}

// A sum over rows: chunks of columns move outside, a quarter of a row each; one core takes whole rows.
// ONE-LABEL: func.func @columns
// ONE-NEXT: affine.for %{{.*}} = 0 to 128 {
// ONE-NEXT: affine.for %{{.*}} = 0 to 512 {
// CHECK-LABEL: func.func @columns
// CHECK: affine.parallel (%[[T:.*]]) = (0) to (4) {
// CHECK-NEXT: affine.for %[[I:.*]] = 0 to 128 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 128 {
// CHECK-NEXT: affine.load %y[%[[T]] * 128 + %[[J]]]
func.func @columns(%x: memref<128x512xf32>, %y: memref<512xf32>) {
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 512 {
      %s = affine.load %y[%j] : memref<512xf32>
      %v = affine.load %x[%i, %j] : memref<128x512xf32>
      %t = arith.addf %s, %v : f32
      affine.store %t, %y[%j] : memref<512xf32>
    }
  }
  func.return
}

// Tiles with edges: the bounds keep their rows apart, and depend on the variable of the parallel loop.
// CHECK-LABEL: func.func @edges
// CHECK: affine.parallel (%[[T:.*]]) = (0) to (25) {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 333 {
// CHECK-NEXT: affine.for %[[I:.*]] = 0 to min affine_map<(d0) -> (32, ((d0 * -32) + 777))>(%[[T]]) {
// CHECK-NEXT: affine.load %x[%[[T]] * 32 + %[[I]], %{{.*}}]
func.func @edges(%x: memref<777x333xf32>, %y: memref<333x777xf32>) {
  affine.for %t = 0 to 25 {
    affine.for %j = 0 to 333 {
      affine.for %i = 0 to min affine_map<(d0) -> (32, d0 * -32 + 777)>(%t) {
        %v = affine.load %x[%t * 32 + %i, %j] : memref<777x333xf32>
        affine.store %v, %y[%j, %t * 32 + %i] : memref<333x777xf32>
      }
    }
  }
  func.return
}

// Refused: too little work; an iteration that needs the one before; a carried value.
// CHECK-LABEL: func.func @refused
// CHECK-NOT: affine.parallel
func.func @refused(%x: memref<100000xf32>, %y: memref<100000xf32>, %z: memref<f32>) {
  affine.for %i = 0 to 1000 {
    %v = affine.load %x[%i] : memref<100000xf32>
    affine.store %v, %y[%i] : memref<100000xf32>
  }
  affine.for %i = 1 to 100000 {
    %v = affine.load %x[%i - 1] : memref<100000xf32>
    affine.store %v, %x[%i] : memref<100000xf32>
  }
  %zero = arith.constant 0.0 : f32
  %s = affine.for %i = 0 to 100000 iter_args(%acc = %zero) -> (f32) {
    %v = affine.load %x[%i] : memref<100000xf32>
    %t = arith.addf %acc, %v : f32
    affine.yield %t : f32
  }
  affine.store %s, %z[] : memref<f32>
  func.return
}
