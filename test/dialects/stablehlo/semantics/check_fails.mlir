// RUN: not lamina run %s --target interpret 2>&1 | filecheck %s

// CHECK: check_fails.mlir:6:3: 'check.expect_eq_const': values are not equal: 1 of 3 elements differ, first at [1]: got 2, expected 5
func.func public @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  check.expect_eq_const %x, dense<[1, 5, 3]> : tensor<3xi32>
  return
}
