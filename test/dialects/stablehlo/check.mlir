// Expectations of test programs print as they are written, and nothing removes them.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @expectations(
func.func @expectations(%x: tensor<2xf32>, %i: tensor<2xi32>) {
  // CHECK-NEXT: check.expect_eq %i, %i : tensor<2xi32>
  check.expect_eq %i, %i : tensor<2xi32>
  // CHECK-NEXT: check.expect_eq_const %i, dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %i, dense<[1, 2]> : tensor<2xi32>
  // CHECK-NEXT: check.expect_almost_eq %x, %x : tensor<2xf32>
  check.expect_almost_eq %x, %x : tensor<2xf32>
  // CHECK-NEXT: check.expect_almost_eq %x, %x, tolerance = 1.000000e-03 : tensor<2xf32>
  check.expect_almost_eq %x, %x, tolerance = 1.000000e-03 : tensor<2xf32>
  // CHECK-NEXT: check.expect_almost_eq_const %x, dense<1.000000e+00> : tensor<2xf32>
  check.expect_almost_eq_const %x, dense<1.000000e+00> : tensor<2xf32>
  // CHECK-NEXT: check.expect_almost_eq_const %x, dense<1.000000e+00> : tensor<2xf32>, tolerance = 1.000000e-03
  check.expect_almost_eq_const %x, dense<1.000000e+00> : tensor<2xf32>, tolerance = 1.000000e-03
  // CHECK-NEXT: check.expect_close %x, %x, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>
  check.expect_close %x, %x, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>
  // CHECK-NEXT: check.expect_close %x, %x, max_ulp_difference = 3, min_ulp_difference = 1 : tensor<2xf32>, tensor<2xf32>
  check.expect_close %x, %x, max_ulp_difference = 3, min_ulp_difference = 1 : tensor<2xf32>, tensor<2xf32>
  func.return
}
