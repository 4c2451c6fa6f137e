// RUN: not lamina run %s --target interpret 2>&1 | filecheck %s

// CHECK: library_calls_results.mlir:6:10: error: 'stablehlo.custom_call' op @lapack_sgetrf_ffi gives float32 [3, 2], int32 [2], int32 []
func.func public @main() -> tensor<3xi32> {
  %a = stablehlo.constant dense<1.0> : tensor<3x2xf32>
  %x:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%a) : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3xi32>, tensor<i32>)
  return %x#1 : tensor<3xi32>
}
