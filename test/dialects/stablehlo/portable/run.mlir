func.func public @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %wide = stablehlo.constant dense<1.0> : tensor<2x4x16xf32>
  %zero = stablehlo.constant dense<-1.0> : tensor<f32>
  %one = stablehlo.reduce(%wide init: %zero) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x16xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %z = stablehlo.add %y, %one : tensor<2x4xf32>
  func.return %z : tensor<2x4xf32>
}
