// RUN: lamina-opt %s -p math-expand | filecheck %s

// No function is left that a math library would have to compute; what has an instruction stays.
// CHECK-LABEL: func.func @functions
func.func @functions(%x: vector<8xf32>, %y: f64) -> (vector<8xf32>, f64, vector<8xf32>) {
  // CHECK-NOT: math.exp
  // CHECK: math.fma
  %e = math.exp %x : vector<8xf32>
  // CHECK-NOT: math.log
  %l = math.log %y : f64
  // CHECK: math.sqrt %x : vector<8xf32>
  %s = math.sqrt %x : vector<8xf32>
  func.return %e, %l, %s : vector<8xf32>, f64, vector<8xf32>
}

// Half precisions go through f32.
// CHECK-LABEL: func.func @half
func.func @half(%x: f16) -> f16 {
  // CHECK: arith.extf %x : f16 to f32
  // CHECK: arith.truncf %{{.*}} : f32 to f16
  %r = math.tanh %x : f16
  func.return %r : f16
}

// A small constant exponent is a few multiplications.
// CHECK-LABEL: func.func @cube
func.func @cube(%x: f32) -> f32 {
  %three = arith.constant 3.0 : f32
  // CHECK: %[[SQUARE:.*]] = arith.mulf %x, %x
  // CHECK: %r = arith.mulf %x, %[[SQUARE]]
  // CHECK-NEXT: func.return %r : f32
  %r = math.powf %x, %three : f32
  func.return %r : f32
}

// GELU's division is a multiplication; what else uses the quotient still has it.
// CHECK-LABEL: func.func @quotient
func.func @quotient(%x: f32) -> (f32, f32) {
  %two = arith.constant 2.0 : f32
  // CHECK: %[[Q:.*]] = arith.divf %x
  // CHECK: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
  // CHECK: arith.mulf %x, %[[HALF]]
  %q = arith.divf %x, %two : f32
  %r = math.erf %q : f32
  // CHECK: func.return %{{.*}}, %[[Q]]
  func.return %r, %q : f32, f32
}

// Beside 1 a single polynomial is enough: nothing is chosen but the bound of the argument.
// CHECK-LABEL: func.func @beside_one
func.func @beside_one(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  // CHECK-NOT: math.erf
  // CHECK: arith.select {{.*}}, %{{.*}}, %{{.*}} : f32
  // CHECK-NOT: arith.select
  // CHECK: math.copysign
  // CHECK-NOT: arith.select
  // CHECK: arith.addf
  %r = math.erf %x : f32
  %s = arith.addf %r, %one : f32
  func.return %s : f32
}
