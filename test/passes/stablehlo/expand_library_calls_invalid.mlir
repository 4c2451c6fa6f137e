// RUN: lamina-opt %s -p stablehlo-expand-library-calls --verify-diagnostics

func.func @main(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>) {
  // expected-error @below {{the call has no option 'uplo'}}
  %0:2 = "stablehlo.custom_call"(%a) <{api_version = 4 : i32, call_target_name = "lapack_spotrf_ffi"}> : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
  func.return %0#0, %0#1 : tensor<4x4xf32>, tensor<i32>
}
