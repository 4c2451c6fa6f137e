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
