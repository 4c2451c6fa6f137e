// RUN: not lamina run %s --target interpret 2>&1 | filecheck %s
// RUN: not lamina run %s --target cpu 2>&1 | filecheck %s

// CHECK: check_calls_results.mlir:6:8: error: 'stablehlo.custom_call' op @check.expect_eq gives tensor<i1>, or nothing
func.func public @main(%a: tensor<2xf32>) -> tensor<i32> {
  %x = stablehlo.custom_call @check.expect_eq(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<i32>
  return %x : tensor<i32>
}
