// Index notation prints as it is written.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt %s | lamina-opt | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @matmul(
func.func @matmul(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %zero: tensor<f32>, %two: tensor<i64>) -> tensor<2x3xf32> {
  // CHECK-NEXT: %y = dsl.comprehension [2, 3] {
  // CHECK-NEXT: ^bb0(%i: tensor<i64>, %j: tensor<i64>):
  %y = dsl.comprehension [2, 3] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    // CHECK-NEXT: %s = dsl.reduce sum [4] attributes {note = "k"} {
    // CHECK-NEXT: ^bb0(%k: tensor<i64>):
    %s = dsl.reduce sum [4] attributes {note = "k"} {
    ^bb0(%k: tensor<i64>):
      // CHECK-NEXT: %a = dsl.access %x[%i, %k] outside %zero : tensor<2x4xf32>
      // CHECK-NEXT: %b = dsl.access %w[%k, %j] {note = 1 : i32} : tensor<4x3xf32>
      %a = dsl.access %x[%i, %k] outside %zero : tensor<2x4xf32>
      %b = dsl.access %w[%k, %j] {note = 1 : i32} : tensor<4x3xf32>
      %p = stablehlo.multiply %a, %b : tensor<f32>
      %g = stablehlo.compare LT, %k, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
      // CHECK: dsl.yield %p, %g : tensor<f32>, tensor<i1>
      // CHECK-NEXT: } : tensor<f32>
      dsl.yield %p, %g : tensor<f32>, tensor<i1>
    } : tensor<f32>
    // CHECK-NEXT: dsl.yield %s : tensor<f32>
    // CHECK-NEXT: } : tensor<2x3xf32>
    dsl.yield %s : tensor<f32>
  } : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @no_index(
func.func @no_index(%x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: %a = dsl.access %x[] : tensor<f32>
  %a = dsl.access %x[] : tensor<f32>
  // CHECK-NEXT: dsl.comprehension [] {
  // CHECK-NEXT: dsl.yield
  %y = dsl.comprehension [] {
    dsl.yield %a : tensor<f32>
  } : tensor<f32>
  func.return %y : tensor<f32>
}
