// RUN: lamina-opt %s -p affine-vectorize | filecheck %s

// Four registers of partial sums hide the latency of the addition; 13 rounds are left.
// CHECK-LABEL: func.func @sum
// CHECK: %[[SUMS:.*]] = affine.for %{{.*}} = 0 to 64 step 32 iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<32xf32>) {
// CHECK: %[[S:.*]] = arith.addf %[[ACC]], %{{.*}} : vector<32xf32>
// CHECK-NEXT: affine.yield %[[S]] : vector<32xf32>
// CHECK: %[[WHOLE:.*]] = vector.reduction <add>, %[[SUMS]], %{{.*}} fastmath<reassoc> : vector<32xf32> into f32
// CHECK: %[[MASK:.*]] = vector.constant_mask [13] : vector<16xi1>
// CHECK: %[[NEW:.*]] = arith.addf
// CHECK-NEXT: %[[KEPT:.*]] = arith.select %[[MASK]], %[[NEW]], %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK-NEXT: %[[ALL:.*]] = vector.reduction <add>, %[[KEPT]], %[[WHOLE]] fastmath<reassoc> : vector<16xf32> into f32
// CHECK-NEXT: affine.store %[[ALL]]
func.func @sum(%x: memref<77xf32>, %y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %sum = affine.for %j = 0 to 77 iter_args(%acc = %zero) -> (f32) {
    %a = affine.load %x[%j] : memref<77xf32>
    %s = arith.addf %acc, %a : f32
    affine.yield %s : f32
  }
  affine.store %sum, %y[0] : memref<1xf32>
  func.return
}

// Two at once, of which one is a maximum that keeps NaN.
// CHECK-LABEL: func.func @two
// CHECK: vector.reduction <maximumf>, %{{.*}}, %{{.*}} : vector<16xf32> into f32
// CHECK: vector.reduction <add>, %{{.*}}, %{{.*}} fastmath<reassoc> : vector<16xf32> into f32
func.func @two(%x: memref<64xf32>, %y: memref<2xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %m, %s = affine.for %j = 0 to 64 iter_args(%p = %low, %q = %zero) -> (f32, f32) {
    %a = affine.load %x[%j] : memref<64xf32>
    %n = arith.maximumf %p, %a : f32
    %b = arith.mulf %a, %a : f32
    %t = arith.addf %q, %b : f32
    affine.yield %n, %t : f32, f32
  }
  affine.store %m, %y[0] : memref<2xf32>
  affine.store %s, %y[1] : memref<2xf32>
  func.return
}

// An arg max in any order: each lane keeps its best, which are compared by halves.
// CHECK-LABEL: func.func @argmax
// CHECK: %[[R:.*]], %[[P:.*]] = affine.for %{{.*}} = 0 to 64 step {{.*}} -> (vector<[[W:.*]]xf32>, vector<[[W]]xi32>) {
// CHECK: vector.shuffle %[[R]], %[[R]]
// CHECK: arith.cmpf
// CHECK: %[[M:.*]] = vector.extract %{{.*}}[0] : f32 from vector<1xf32>
// CHECK: affine.store %[[M]], %v[]
func.func @argmax(%x: memref<64xf32>, %low: f32, %none: i32, %v: memref<f32>, %p: memref<i32>) {
  %m, %n = affine.for %j = 0 to 64 iter_args(%a = %low, %i = %none) -> (f32, i32) {
    %b = affine.load %x[%j] : memref<64xf32>
    %k = arith.index_cast %j : index to i32
    %more = arith.cmpf ogt, %a, %b : f32
    %same = arith.cmpf oeq, %a, %b : f32
    %nan = arith.cmpf une, %a, %a : f32
    %number = arith.cmpf oeq, %b, %b : f32
    %earlier = arith.cmpi slt, %i, %k : i32
    %tie = arith.andi %same, %earlier : i1
    %either = arith.ori %number, %earlier : i1
    %alone = arith.andi %nan, %either : i1
    %best = arith.ori %more, %tie : i1
    %keep = arith.ori %best, %alone : i1
    %value = arith.select %keep, %a, %b : f32
    %place = arith.select %keep, %i, %k : i32
    affine.yield %value, %place : f32, i32
  }
  affine.store %m, %v[] : memref<f32>
  affine.store %n, %p[] : memref<i32>
  func.return
}

// Of equals the one that comes last: that depends on the order, so rounds stay one after another.
// CHECK-LABEL: func.func @last_of_equals
// CHECK: affine.for %{{.*}} = 0 to 64 iter_args(%{{.*}} = %low, %{{.*}} = %none) -> (f32, i32) {
func.func @last_of_equals(%x: memref<64xf32>, %low: f32, %none: i32, %v: memref<f32>, %p: memref<i32>) {
  %m, %n = affine.for %j = 0 to 64 iter_args(%a = %low, %i = %none) -> (f32, i32) {
    %b = affine.load %x[%j] : memref<64xf32>
    %k = arith.index_cast %j : index to i32
    %keep = arith.cmpf ogt, %a, %b : f32
    %value = arith.select %keep, %a, %b : f32
    %place = arith.select %keep, %i, %k : i32
    affine.yield %value, %place : f32, i32
  }
  affine.store %m, %v[] : memref<f32>
  affine.store %n, %p[] : memref<i32>
  func.return
}
