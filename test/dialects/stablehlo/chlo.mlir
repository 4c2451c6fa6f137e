// Functions beyond the specification print as they are written.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @unary(
func.func @unary(%x: tensor<2xf32>) {
  // CHECK-NEXT: %erf = chlo.erf %x : tensor<2xf32> -> tensor<2xf32>
  %erf = chlo.erf %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %erfc = chlo.erfc %x : tensor<2xf32> -> tensor<2xf32>
  %erfc = chlo.erfc %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %erf_inv = chlo.erf_inv %x : tensor<2xf32> -> tensor<2xf32>
  %erf_inv = chlo.erf_inv %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %lgamma = chlo.lgamma %x : tensor<2xf32> -> tensor<2xf32>
  %lgamma = chlo.lgamma %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %digamma = chlo.digamma %x : tensor<2xf32> -> tensor<2xf32>
  %digamma = chlo.digamma %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %acos = chlo.acos %x : tensor<2xf32> -> tensor<2xf32>
  %acos = chlo.acos %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %acosh = chlo.acosh %x : tensor<2xf32> -> tensor<2xf32>
  %acosh = chlo.acosh %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %asin = chlo.asin %x : tensor<2xf32> -> tensor<2xf32>
  %asin = chlo.asin %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %asinh = chlo.asinh %x : tensor<2xf32> -> tensor<2xf32>
  %asinh = chlo.asinh %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %atan = chlo.atan %x : tensor<2xf32> -> tensor<2xf32>
  %atan = chlo.atan %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %atanh = chlo.atanh %x : tensor<2xf32> -> tensor<2xf32>
  %atanh = chlo.atanh %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %cosh = chlo.cosh %x : tensor<2xf32> -> tensor<2xf32>
  %cosh = chlo.cosh %x : tensor<2xf32> -> tensor<2xf32>
  // CHECK-NEXT: %sinh = chlo.sinh %x : tensor<2xf32> -> tensor<2xf32>
  %sinh = chlo.sinh %x : tensor<2xf32> -> tensor<2xf32>
  func.return
}
