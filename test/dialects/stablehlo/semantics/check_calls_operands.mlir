// RUN: not lamina run %s --target interpret 2>&1 | filecheck %s
// RUN: not lamina run %s --target cpu 2>&1 | filecheck %s

// CHECK: check_calls_operands.mlir:6:8: error: 'stablehlo.custom_call' op @check.expect_eq compares two tensors of one type
func.func public @main(%a: tensor<2xf32>) -> tensor<i1> {
  %x = stablehlo.custom_call @check.expect_eq(%a) : (tensor<2xf32>) -> tensor<i1>
  return %x : tensor<i1>
}
