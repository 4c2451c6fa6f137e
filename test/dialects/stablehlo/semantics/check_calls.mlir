// RUN: lamina run %s --target interpret | filecheck %s
// RUN: lamina run %s --target cpu | filecheck %s

// A check that gives a value gives true; the values are judged apart.
// CHECK: output0: bool[] [True]
func.func public @main() -> tensor<i1> {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.abs %a : tensor<2xf32>
  %good = stablehlo.custom_call @check.expect_eq(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<i1>
  return %good : tensor<i1>
}
