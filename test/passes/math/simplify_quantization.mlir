// RUN: lamina-opt %s --machine x86-64-avx512 -p math-simplify-quantization,canonicalize | filecheck %s
// RUN: lamina-opt %s --machine x86-64 -p math-simplify-quantization,canonicalize | filecheck %s --check-prefix PLAIN

// 1 / 0.02 in two parts, bounds of which the first one takes NaN, and a sum without room for a fraction. The zero point
// is even, and part of that.
// CHECK-LABEL: func.func @unsigned
// CHECK-NOT: arith.divf
// CHECK: %[[LESS:.*]] = arith.mulf %x, %{{.*}} {strict} : vector<16xf32>
// CHECK-NEXT: %[[Q:.*]] = math.fma %x, %{{.*}}, %[[LESS]] {strict} : vector<16xf32>
// CHECK-NEXT: %[[ABOVE:.*]] = arith.cmpf ogt, %[[Q]], %[[LEAST:.*]] : vector<16xf32>
// CHECK-NEXT: %[[A:.*]] = arith.select %[[ABOVE]], %[[Q]], %[[LEAST]] : vector<16xi1>, vector<16xf32>
// CHECK-NEXT: %[[BELOW:.*]] = arith.cmpf olt, %[[A]], %[[MOST:.*]] : vector<16xf32>
// CHECK-NEXT: %[[B:.*]] = arith.select %[[BELOW]], %[[A]], %[[MOST]] : vector<16xi1>, vector<16xf32>
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[B]], %{{.*}} {strict} : vector<16xf32>
// CHECK-NEXT: %[[BITS:.*]] = arith.bitcast %[[SUM]] : vector<16xf32> to vector<16xi32>
// CHECK-NEXT: %[[I:.*]] = arith.subi %[[BITS]], %{{.*}} : vector<16xi32>
// CHECK-NEXT: %[[R:.*]] = arith.trunci %[[I]] : vector<16xi32> to vector<16xi8>
// CHECK-NEXT: func.return %[[R]]
// PLAIN-LABEL: func.func @unsigned
// PLAIN: arith.divf
// PLAIN: arith.fptosi
func.func @unsigned(%x: vector<16xf32>) -> vector<16xi8> {
  %scale = arith.constant dense<2.000000e-02> : vector<16xf32>
  %zero_point = arith.constant dense<1.280000e+02> : vector<16xf32>
  %least = arith.constant dense<0.0> : vector<16xf32>
  %most = arith.constant dense<2.550000e+02> : vector<16xf32>
  %q = arith.divf %x, %scale : vector<16xf32>
  %r = math.roundeven %q : vector<16xf32>
  %s = arith.addf %r, %zero_point : vector<16xf32>
  %t = arith.maximumf %s, %least : vector<16xf32>
  %u = arith.minimumf %t, %most : vector<16xf32>
  %none = arith.cmpf uno, %u, %u : vector<16xf32>
  %v = arith.select %none, %least, %u : vector<16xi1>, vector<16xf32>
  %i = arith.fptosi %v : vector<16xf32> to vector<16xi32>
  %b = arith.trunci %i : vector<16xi32> to vector<16xi8>
  func.return %b : vector<16xi8>
}

// With a sign NaN is asked for: it is 0, which is no bound. What was stored in bytes is still known afterwards.
// CHECK-LABEL: func.func @signed
// CHECK: %[[NONE:.*]] = arith.cmpf uno, %x, %x : f32
// CHECK-NEXT: %[[NUMBER:.*]] = arith.select %[[NONE]], %{{.*}}, %x : f32
// CHECK-NEXT: arith.cmpf ogt, %[[NUMBER]], %{{.*}} : f32
// CHECK: %[[I:.*]] = arith.subi
// CHECK-NEXT: %[[B:.*]] = arith.trunci %[[I]] : i32 to i8
// CHECK-NEXT: func.return %[[B]], %[[I]] : i8, i32
func.func @signed(%x: f32) -> (i8, i32) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant -1.280000e+02 : f32
  %most = arith.constant 1.270000e+02 : f32
  %r = math.roundeven %x : f32
  %t = arith.maximumf %r, %least : f32
  %u = arith.minimumf %t, %most : f32
  %none = arith.cmpf uno, %u, %u : f32
  %v = arith.select %none, %zero, %u : f32
  %i = arith.fptosi %v : f32 to i32
  %b = arith.trunci %i : i32 to i8
  %again = arith.extsi %b : i8 to i32
  func.return %b, %again : i8, i32
}

// An integer by a number is a number. Of bytes without a sign, these are not what was stored.
// CHECK-LABEL: func.func @sums
// CHECK: %[[P:.*]] = arith.mulf
// CHECK-NEXT: arith.cmpf ogt, %[[P]]
// CHECK: %[[B:.*]] = arith.trunci %{{.*}} : i32 to i8
// CHECK-NEXT: %[[AGAIN:.*]] = arith.extui %[[B]] : i8 to i32
// CHECK-NEXT: func.return %[[AGAIN]]
func.func @sums(%x: i32) -> i32 {
  %zero = arith.constant 0.0 : f32
  %factor = arith.constant 1.000000e-03 : f32
  %least = arith.constant -1.280000e+02 : f32
  %most = arith.constant 1.270000e+02 : f32
  %f = arith.sitofp %x : i32 to f32
  %p = arith.mulf %f, %factor : f32
  %r = math.roundeven %p : f32
  %t = arith.maximumf %r, %least : f32
  %u = arith.minimumf %t, %most : f32
  %none = arith.cmpf uno, %u, %u : f32
  %v = arith.select %none, %zero, %u : f32
  %i = arith.fptosi %v : f32 to i32
  %b = arith.trunci %i : i32 to i8
  %again = arith.extui %b : i8 to i32
  func.return %again : i32
}

// A scale so small that quotients are infinite stays a division; a bound that is no integer, all of it.
// CHECK-LABEL: func.func @left
// CHECK: arith.divf
// CHECK: arith.cmpf ogt
// CHECK: arith.subi
// CHECK: math.roundeven
// CHECK: arith.fptosi
func.func @left(%x: f32) -> (i32, i32) {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 1.000000e-30 : f32
  %most = arith.constant 2.550000e+02 : f32
  %between = arith.constant 2.545000e+02 : f32
  %q = arith.divf %x, %scale : f32
  %r = math.roundeven %q : f32
  %t = arith.maximumf %r, %zero : f32
  %u = arith.minimumf %t, %most : f32
  %none = arith.cmpf uno, %u, %u : f32
  %v = arith.select %none, %zero, %u : f32
  %i = arith.fptosi %v : f32 to i32
  %r2 = math.roundeven %x : f32
  %t2 = arith.maximumf %r2, %zero : f32
  %u2 = arith.minimumf %t2, %between : f32
  %none2 = arith.cmpf uno, %u2, %u2 : f32
  %v2 = arith.select %none2, %zero, %u2 : f32
  %i2 = arith.fptosi %v2 : f32 to i32
  func.return %i, %i2 : i32, i32
}
