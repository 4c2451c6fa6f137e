// RUN: lamina-opt %s -p convert-affine-to-scf | filecheck %s

// CHECK-LABEL: func.func @loops
func.func @loops(%m: memref<64xf32>, %n: index) {
  // CHECK: %[[LO:.*]] = arith.constant 2 : index
  // CHECK: %[[HI:.*]] = arith.constant 60 : index
  // CHECK: %[[M:.*]] = arith.minsi %n, %[[HI]] : index
  // CHECK: scf.for %i = %[[LO]] to %[[M]] step %{{.*}} {
  affine.for %i = 2 to min affine_map<()[s0] -> (s0, 60)>()[%n] step 4 {
    // CHECK: %[[THREE:.*]] = arith.constant 3 : index
    // CHECK: %[[J:.*]] = arith.addi %i, %[[THREE]] overflow<nsw> : index
    // CHECK: %x = memref.load %m[%[[J]]] : memref<64xf32>
    %x = affine.load %m[%i + 3] : memref<64xf32>
    // CHECK: memref.store %x, %m[%i] : memref<64xf32>
    affine.store %x, %m[%i] : memref<64xf32>
  }
  func.return
}

// A place that is known already is not computed again, but for the body of a parallel loop, which becomes a function.
// CHECK-LABEL: func.func @shared
func.func @shared(%m: memref<64xf32>, %n: memref<64xf32>) {
  affine.for %i = 0 to 48 {
    // CHECK: %[[J:.*]] = arith.addi %i, %{{.*}} overflow<nsw> : index
    // CHECK-NEXT: %x = memref.load %m[%[[J]]]
    // CHECK-NEXT: memref.store %x, %n[%[[J]]]
    %x = affine.load %m[%i + 12] : memref<64xf32>
    affine.store %x, %n[%i + 12] : memref<64xf32>
    // CHECK: scf.parallel
    affine.parallel (%k) = (0) to (4) {
      // CHECK: arith.constant 12 : index
      // CHECK: arith.addi %i
      // CHECK: memref.load
      %y = affine.load %m[%i + 12] : memref<64xf32>
      affine.store %y, %n[%k] : memref<64xf32>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @carried
func.func @carried(%m: memref<64xf32>) -> f32 {
  %zero = arith.constant 0.0 : f32
  // CHECK: %r = scf.for %i = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%acc = %zero) -> (f32) {
  %r = affine.for %i = 0 to 64 iter_args(%acc = %zero) -> (f32) {
    %x = affine.load %m[%i] : memref<64xf32>
    %s = arith.addf %acc, %x : f32
    // CHECK: scf.yield %s : f32
    affine.yield %s : f32
  }
  func.return %r : f32
}

// A loop variable is never negative: unsigned, so that LLVM makes a shift or a multiplication of it.
// CHECK-LABEL: func.func @division
func.func @division(%m: memref<8x8xf32>, %any: index) {
  affine.for %i = 0 to 64 {
    // CHECK: arith.divui %i
    // CHECK: arith.remui %i
    %x = affine.load %m[%i floordiv 8, %i mod 8] : memref<8x8xf32>
    // A range that fits needs no division at all.
    // CHECK-NOT: remui
    // CHECK: memref.load
    affine.for %j = 0 to 8 {
      %y = affine.load %m[0, %j mod 8] : memref<8x8xf32>
    }
    // Nor does a multiple of the divisor.
    // CHECK: %[[TWO:.*]] = arith.constant 2 : index
    // CHECK: %[[TWICE:.*]] = arith.muli %i, %[[TWO]] overflow<nsw> : index
    // CHECK-NEXT: memref.load %m[%{{.*}}, %[[TWICE]]]
    %z = affine.load %m[0, (%i * 16) floordiv 8] : memref<8x8xf32>
  }
  // An unknown value may be negative: mod is never negative, floordiv rounds down.
  // CHECK: %[[R:.*]] = arith.remsi %any, %[[EIGHT:.*]] : index
  // CHECK: %[[NEG:.*]] = arith.cmpi slt, %[[R]], %{{.*}} : index
  // CHECK: %[[UP:.*]] = arith.addi %[[R]], %[[EIGHT]] : index
  // CHECK: arith.select %[[NEG]], %[[UP]], %[[R]] : index
  %a = affine.apply affine_map<(d0) -> (d0 mod 8)>(%any)
  func.return
}

// CHECK-LABEL: func.func @condition
func.func @condition(%m: memref<64xf32>, %n: index) {
  affine.for %i = 0 to 64 {
    // CHECK: arith.cmpi sge
    // CHECK: arith.cmpi eq
    // CHECK: arith.andi
    // CHECK: scf.if
    affine.if affine_set<(d0)[s0] : (s0 - d0 - 1 >= 0, d0 - 3 == 0)>(%i)[%n] {
      %x = affine.load %m[%i] : memref<64xf32>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @parallel
func.func @parallel(%m: memref<64x8xf32>) {
  // CHECK: scf.parallel (%i, %j) = (%{{.*}}, %{{.*}}) to (%{{.*}}, %{{.*}}) step (%{{.*}}, %{{.*}}) {
  affine.parallel (%i, %j) = (0, 0) to (64, 8) step (1, 2) {
    %x = affine.load %m[%i, %j] : memref<64x8xf32>
    // CHECK: scf.reduce
  }
  func.return
}
