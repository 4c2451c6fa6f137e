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

// The pivot is the largest in its column; its row comes up, and the others lose their part of it.
// CHECK-LABEL: func.func @lu
func.func @lu(%a: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xi32>) {
  // CHECK-NOT: custom_call
  // CHECK: stablehlo.while
  // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [0]
  // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.minimum across dimensions = [0]
  // CHECK: stablehlo.divide
  // CHECK: stablehlo.subtract
  // CHECK: stablehlo.return
  %0:3 = "stablehlo.custom_call"(%a) <{api_version = 4 : i32, call_target_name = "lapack_sgetrf_ffi"}> : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xi32>, tensor<i32>)
  func.return %0#0, %0#1 : tensor<4x3xf32>, tensor<3xi32>
}

// Reflectors, and their product, the last one first.
// CHECK-LABEL: func.func @qr
func.func @qr(%a: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // CHECK: stablehlo.while
  // CHECK: stablehlo.sqrt
  // CHECK: stablehlo.while
  // CHECK-NOT: custom_call
  // CHECK: return
  %0:2 = "stablehlo.custom_call"(%a) <{api_version = 4 : i32, call_target_name = "lapack_sgeqrf_ffi"}> : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>)
  %1 = "stablehlo.custom_call"(%0#0, %0#1) <{api_version = 4 : i32, call_target_name = "lapack_sorgqr_ffi"}> : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  func.return %1 : tensor<4x3xf32>
}

// Sweeps over rounds, until nothing is left to turn.
// CHECK-LABEL: func.func @eigenvalues
func.func @eigenvalues(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  // CHECK: stablehlo.while
  // CHECK: stablehlo.and {{.*}} : tensor<i1>
  // CHECK: stablehlo.while
  // CHECK: stablehlo.remainder
  // CHECK: "stablehlo.gather"
  // CHECK: "stablehlo.sort"
  // CHECK-NOT: custom_call
  // CHECK: return
  %0:3 = "stablehlo.custom_call"(%a) <{api_version = 4 : i32, call_target_name = "lapack_ssyevd_ffi"}> {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<i32>)
  func.return %0#0, %0#1 : tensor<4x4xf32>, tensor<4xf32>
}

// Calls of something else stay.
// CHECK-LABEL: func.func @other
func.func @other(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: stablehlo.custom_call @mine
  %0 = stablehlo.custom_call @mine(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
