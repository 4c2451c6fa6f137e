// RUN: lamina-opt %s -p canonicalize | filecheck %s

// Constants are folded at their own width: f32 overflow is infinity, not an exception.
// CHECK-LABEL: func.func @overflow
func.func @overflow() -> (f32, f16, f32, i8) {
  // CHECK-DAG: [[INF:%[a-z0-9_]+]] = arith.constant 0x7f800000 : f32
  // CHECK-DAG: [[HINF:%[a-z0-9_]+]] = arith.constant 0x7c00 : f16
  // CHECK-DAG: [[NAN:%[a-z0-9_]+]] = arith.constant 0x{{[7f]}}fc00000 : f32
  // CHECK-DAG: [[WRAP:%[a-z0-9_]+]] = arith.constant -56 : i8
  %big = arith.constant 3.0e38 : f32
  %0 = arith.addf %big, %big : f32
  %half = arith.constant 65504.0 : f16
  %1 = arith.addf %half, %half : f16
  %2 = arith.subf %0, %0 : f32
  %hundred = arith.constant 100 : i8
  %3 = arith.addi %hundred, %hundred : i8
  // CHECK: return [[INF]], [[HINF]], [[NAN]], [[WRAP]]
  return %0, %1, %2, %3 : f32, f16, f32, i8
}

// NaN, infinities and signed zeros keep their meaning.
// CHECK-LABEL: func.func @floats_stay
func.func @floats_stay(%x: f32) -> (f32, f32, f32) {
  %zero = arith.constant 0.0 : f32
  // CHECK: arith.mulf %x, %zero
  %0 = arith.mulf %x, %zero : f32
  // CHECK: arith.subf %x, %x
  %1 = arith.subf %x, %x : f32
  // CHECK: arith.addf %x, %zero
  %2 = arith.addf %x, %zero : f32
  return %0, %1, %2 : f32, f32, f32
}

// CHECK-LABEL: func.func @neutral
// CHECK-NEXT: return %x, %x, %x, %x, %i, %i
func.func @neutral(%x: f32, %i: i32) -> (f32, f32, f32, f32, i32, i32) {
  %one = arith.constant 1.0 : f32
  %minus = arith.constant -0.0 : f32
  %plus = arith.constant 0.0 : f32
  %0 = arith.mulf %one, %x : f32
  %1 = arith.divf %x, %one : f32
  %2 = arith.addf %x, %minus : f32
  %3 = arith.subf %x, %plus : f32
  %zero = arith.constant 0 : i32
  %4 = arith.addi %zero, %i : i32
  %t = arith.constant true
  %5 = arith.select %t, %i, %zero : i32
  return %0, %1, %2, %3, %4, %5 : f32, f32, f32, f32, i32, i32
}

// CHECK-LABEL: func.func @comparisons
func.func @comparisons(%i: i32) -> (i1, i1, i32, i1) {
  // CHECK-DAG: [[T:%[a-z0-9_]+]] = arith.constant true
  // CHECK-DAG: [[Q:%[a-z0-9_]+]] = arith.constant -3 : i32
  // CHECK: [[C:%[a-z0-9_]+]] = arith.cmpi sgt, %i, {{%.*}} : i32
  // CHECK: return [[T]], [[T]], [[Q]], [[C]]
  %a = arith.constant -7 : i32
  %b = arith.constant 2 : i32
  %0 = arith.cmpi slt, %a, %b : i32
  %1 = arith.cmpi uge, %i, %i : i32
  %2 = arith.divsi %a, %b : i32
  %3 = arith.cmpi slt, %b, %i : i32
  return %0, %1, %2, %3 : i1, i1, i32, i1
}

// Division by zero is left to run time.
// CHECK-LABEL: func.func @by_zero
func.func @by_zero() -> i32 {
  %a = arith.constant 7 : i32
  %z = arith.constant 0 : i32
  // CHECK: arith.divsi
  %0 = arith.divsi %a, %z : i32
  return %0 : i32
}

// CHECK-LABEL: func.func @chains
func.func @chains(%i: i32, %h: f16) -> (i32, f16) {
  // CHECK: [[S:%[a-z0-9_]+]] = arith.constant 12 : i32
  // CHECK-NEXT: [[R:%[a-z0-9_]+]] = arith.addi %i, [[S]] : i32
  // CHECK-NEXT: return [[R]], %h
  %a = arith.constant 5 : i32
  %b = arith.constant 7 : i32
  %0 = arith.addi %i, %a : i32
  %1 = arith.addi %0, %b : i32
  %2 = arith.extf %h : f16 to f32
  %3 = arith.truncf %2 : f32 to f16
  return %1, %3 : i32, f16
}
