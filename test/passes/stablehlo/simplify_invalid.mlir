// RUN: lamina-opt %s --verify-diagnostics -p stablehlo-simplify

func.func @unknown(%x: tensor<4x100xf32>) -> tensor<4x100xf32> {
  // expected-error@+1 {{weight 'absent' is not there}}
  %w = stablehlo.constant dense_resource<absent> : tensor<100xf32>
  %b = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<100xf32>) -> tensor<4x100xf32>
  %y = stablehlo.multiply %x, %b : tensor<4x100xf32>
  func.return %y : tensor<4x100xf32>
}
