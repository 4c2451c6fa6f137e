// What cannot be lifted, by the message that a person sees.
// RUN: lamina-opt %s -p convert-dsl-to-stablehlo --split-input-file --verify-diagnostics

func.func @not_scalar(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = dsl.comprehension [4] {
  ^bb0(%i: tensor<i64>):
    %a = dsl.access %x[%i] : tensor<4xf32>
    %b = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    // expected-error@+1 {{'stablehlo.reduce' cannot be applied for each index}}
    %s = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    dsl.yield %s : tensor<f32>
  } : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
