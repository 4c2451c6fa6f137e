// RUN: lamina-opt %s -p affine-loop-fusion | filecheck %s

// A row kernel: one loop over rows; the maximum stays in a register and its memory disappears.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: memref.alloca
// CHECK: affine.for %[[I:.*]] = 0 to 14 {
// CHECK-NEXT: %[[M:.*]] = affine.for %[[J:.*]] = 0 to 33 iter_args
// CHECK: affine.for %[[K:.*]] = 0 to 33 {
// CHECK-NEXT: %[[A:.*]] = affine.load %x[%[[I]], %[[K]]]
// CHECK-NEXT: %[[S:.*]] = arith.subf %[[A]], %[[M]] : f32
// CHECK-NEXT: affine.store %[[S]], %y[%[[I]], %[[K]]]
// CHECK-NOT: affine.for
// CHECK: func.return
func.func @rows(%x: memref<14x33xf32>, %y: memref<14x33xf32>) {
  %max = memref.alloca() : memref<14xf32>
  %low = arith.constant -1.0 : f32
  affine.for %i = 0 to 14 {
    %m = affine.for %j = 0 to 33 iter_args(%acc = %low) -> (f32) {
      %a = affine.load %x[%i, %j] : memref<14x33xf32>
      %b = arith.maximumf %a, %acc : f32
      affine.yield %b : f32
    }
    affine.store %m, %max[%i] : memref<14xf32>
  }
  affine.for %i = 0 to 14 {
    %m = affine.load %max[%i] : memref<14xf32>
    affine.for %j = 0 to 33 {
      %a = affine.load %x[%i, %j] : memref<14x33xf32>
      %s = arith.subf %a, %m : f32
      affine.store %s, %y[%i, %j] : memref<14x33xf32>
    }
  }
  func.return
}

// An elementwise loop and a reduction that reads what it writes become one loop that carries the sum.
// CHECK-LABEL: func.func @with_reduction
// CHECK: %[[R:.*]] = affine.for %{{.*}} = 0 to 33 iter_args(%[[ACC:.*]] = %zero) -> (f32) {
// CHECK-NEXT: affine.load %x
// CHECK-NEXT: %[[E:.*]] = math.exp
// CHECK-NEXT: affine.store %[[E]], %y
// CHECK-NEXT: arith.addf %[[ACC]], %[[E]] : f32
// CHECK-NOT: affine.for
// CHECK: func.return
func.func @with_reduction(%x: memref<33xf32>, %y: memref<33xf32>, %s: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %j = 0 to 33 {
    %a = affine.load %x[%j] : memref<33xf32>
    %e = math.exp %a : f32
    affine.store %e, %y[%j] : memref<33xf32>
  }
  %sum = affine.for %j = 0 to 33 iter_args(%acc = %zero) -> (f32) {
    %e = affine.load %y[%j] : memref<33xf32>
    %t = arith.addf %acc, %e : f32
    affine.yield %t : f32
  }
  affine.store %sum, %s[] : memref<f32>
  func.return
}

// Refused: the second loop reads what the first has not written yet.
// CHECK-LABEL: func.func @turned_round
// CHECK-COUNT-2: affine.for
func.func @turned_round(%x: memref<40xf32>, %y: memref<33xf32>) {
  %one = arith.constant 1.0 : f32
  affine.for %j = 0 to 33 {
    affine.store %one, %x[%j] : memref<40xf32>
  }
  affine.for %j = 0 to 33 {
    %e = affine.load %x[%j + 1] : memref<40xf32>
    affine.store %e, %y[%j] : memref<33xf32>
  }
  func.return
}

// Refused: legal, but two parallel loops would become one that is not.
// CHECK-LABEL: func.func @loses_parallelism
// CHECK-COUNT-2: affine.for
func.func @loses_parallelism(%x: memref<40xf32>, %y: memref<33xf32>) {
  %one = arith.constant 1.0 : f32
  affine.for %j = 0 to 33 {
    affine.store %one, %x[%j + 1] : memref<40xf32>
  }
  affine.for %j = 0 to 33 {
    %e = affine.load %x[%j] : memref<40xf32>
    affine.store %e, %y[%j] : memref<33xf32>
  }
  func.return
}

// Refused: the second loop needs the whole sum.
// CHECK-LABEL: func.func @needs_result
// CHECK-COUNT-2: affine.for
func.func @needs_result(%x: memref<33xf32>, %y: memref<33xf32>) {
  %zero = arith.constant 0.0 : f32
  %sum = affine.for %j = 0 to 33 iter_args(%acc = %zero) -> (f32) {
    %e = affine.load %x[%j] : memref<33xf32>
    %t = arith.addf %acc, %e : f32
    affine.yield %t : f32
  }
  affine.for %j = 0 to 33 {
    %e = affine.load %x[%j] : memref<33xf32>
    %q = arith.divf %e, %sum : f32
    affine.store %q, %y[%j] : memref<33xf32>
  }
  func.return
}

// The parts of a concatenation share a buffer, but the loops' own variable keeps them apart: nothing to gain.
// CHECK-LABEL: func.func @parts
// CHECK: affine.for %{{.*}} = 0 to 4 {
// CHECK: affine.for %{{.*}} = 0 to 4 {
func.func @parts(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %z: memref<8x8xf32>) {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %v = affine.load %x[%i, %j] : memref<4x8xf32>
      affine.store %v, %z[%i, %j] : memref<8x8xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %v = affine.load %y[%i, %j] : memref<4x8xf32>
      affine.store %v, %z[%i + 4, %j] : memref<8x8xf32>
    }
  }
  func.return
}

// Along the last dimension the parts lie in the same rows: one loop over rows, one after the other in each.
// CHECK-LABEL: func.func @parts_of_rows
// CHECK: affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 8 {
// CHECK: }
// CHECK-NEXT: affine.for %{{.*}} = 0 to 8 {
// CHECK-NEXT: affine.load %y[%[[I]], %{{.*}}]
func.func @parts_of_rows(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %z: memref<4x16xf32>) {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %v = affine.load %x[%i, %j] : memref<4x8xf32>
      affine.store %v, %z[%i, %j] : memref<4x16xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %v = affine.load %y[%i, %j] : memref<4x8xf32>
      affine.store %v, %z[%i, %j + 8] : memref<4x16xf32>
    }
  }
  func.return
}
