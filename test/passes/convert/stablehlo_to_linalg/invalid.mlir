// RUN: lamina-opt %s -p convert-stablehlo-to-linalg --verify-diagnostics

func.func @no_rule(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{no rule lowers this operation}}
  %0 = stablehlo.cholesky %x, lower = true : tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}
