// RUN: lamina-opt %s -p stablehlo-expand-library-calls,stablehlo-expand-linear-algebra | filecheck %s

// CHECK-LABEL: func.func @cholesky
func.func @cholesky(%a: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
  // CHECK: stablehlo.while
  // CHECK: stablehlo.constant dense<4> : tensor<i32>
  // CHECK: stablehlo.dot_general {{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: stablehlo.sqrt {{.*}} : tensor<2xf32>
  // CHECK: stablehlo.dynamic_update_slice
  %l = stablehlo.cholesky %a, lower = true : tensor<2x4x4xf32>
  func.return %l : tensor<2x4x4xf32>
}

// LAPACK's call gives the other triangle as it was, and whether all went well.
// CHECK-LABEL: func.func @factor
func.func @factor(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>) {
  // CHECK-NOT: custom_call
  // CHECK: stablehlo.while
  // CHECK: stablehlo.select {{.*}}, {{.*}}, %a
  // CHECK: stablehlo.is_finite
  %0:2 = "stablehlo.custom_call"(%a) <{api_version = 4 : i32, call_target_name = "lapack_spotrf_ffi"}> {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
  func.return %0#0, %0#1 : tensor<4x4xf32>, tensor<i32>
}

// Calls of something else stay.
// CHECK-LABEL: func.func @other
func.func @other(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: stablehlo.custom_call @mine
  %0 = stablehlo.custom_call @mine(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
