// RUN: lamina-opt %s -p affine-scalrep | filecheck %s

// CHECK-LABEL: func.func @forward
// CHECK: %[[E:.*]] = math.exp
// CHECK-NEXT: %[[F:.*]] = math.exp %[[E]]
// CHECK-NEXT: affine.store %[[F]], %y[%{{.*}}]
// CHECK-NOT: affine.load %y
func.func @forward(%x: memref<8xf32>, %y: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    %e = math.exp %a : f32
    affine.store %e, %y[%i] : memref<8xf32>
    %b = affine.load %y[%i] : memref<8xf32>
    %f = math.exp %b : f32
    affine.store %f, %y[%i] : memref<8xf32>
  }
  func.return
}

// A store to another place that may be the same stands in the way; one that is surely another does not.
// CHECK-LABEL: func.func @aliases
// CHECK: %[[A:.*]] = affine.load %x[0]
// CHECK: affine.store %{{.*}}, %x[%n]
// CHECK: %[[B:.*]] = affine.load %x[0]
// CHECK: affine.store %{{.*}}, %x[1]
// CHECK-NOT: affine.load
// CHECK: func.return
func.func @aliases(%x: memref<8xf32>, %n: index, %v: f32) -> (f32, f32, f32) {
  %a = affine.load %x[0] : memref<8xf32>
  affine.store %v, %x[%n] : memref<8xf32>
  %b = affine.load %x[0] : memref<8xf32>
  affine.store %v, %x[1] : memref<8xf32>
  %c = affine.load %x[0] : memref<8xf32>
  func.return %a, %b, %c : f32, f32, f32
}

// CHECK-LABEL: func.func @accumulate
// CHECK: affine.for %[[I:.*]] = 0 to 8 {
// CHECK-NEXT: %[[OLD:.*]] = affine.load %y[%[[I]]]
// CHECK-NEXT: %[[SUM:.*]] = affine.for %[[J:.*]] = 0 to 9 iter_args(%[[ACC:.*]] = %[[OLD]]) -> (f32) {
// CHECK-NEXT: affine.load %x
// CHECK-NEXT: %[[T:.*]] = arith.addf %[[ACC]], %{{.*}}
// CHECK-NEXT: affine.yield %[[T]] : f32
// CHECK: affine.store %[[SUM]], %y[%[[I]]]
func.func @accumulate(%x: memref<8x9xf32>, %y: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 9 {
      %o = affine.load %y[%i] : memref<8xf32>
      %a = affine.load %x[%i, %j] : memref<8x9xf32>
      %t = arith.addf %o, %a : f32
      affine.store %t, %y[%i] : memref<8xf32>
    }
  }
  func.return
}

// Refused: the place changes with the loop, or another access may meet it.
// CHECK-LABEL: func.func @not_carried
// CHECK-NOT: iter_args
func.func @not_carried(%x: memref<9xf32>, %n: index) {
  affine.for %j = 0 to 9 {
    %o = affine.load %x[0] : memref<9xf32>
    %a = affine.load %x[%j] : memref<9xf32>
    %t = arith.addf %o, %a : f32
    affine.store %t, %x[0] : memref<9xf32>
  }
  func.return
}

// Scratch that nothing reads is neither written nor kept.
// CHECK-LABEL: func.func @scratch
// CHECK-NOT: affine.store
func.func @scratch(%v: f32, %s: memref<8xf32>) attributes {lamina.scratch = 1 : i64} {
  %m = memref.alloca() : memref<8xf32>
  affine.store %v, %m[0] : memref<8xf32>
  affine.store %v, %s[0] : memref<8xf32>
  func.return
}
