// RUN: lamina-opt %s --machine x86-64-avx512 -p stablehlo-flatten-windows | filecheck %s

// CHECK-LABEL: func.func @frames
// CHECK:         %[[P:.*]] = stablehlo.pad %x, {{.*}}, low = [0, 1, 0, 0, 0], high = [0, 1, 0, 0, 0]
// CHECK:         %[[A:.*]] = stablehlo.slice %[[P]] [0:1, 0:8, 0:28, 0:28, 0:64]
// CHECK:         stablehlo.slice %[[P]] [0:1, 1:9,
// CHECK:         stablehlo.slice %[[P]] [0:1, 2:10,
// CHECK:         %[[C:.*]] = stablehlo.concatenate %[[A]], {{.*}} dim = 4 {{.*}} -> tensor<1x8x28x28x192xf32>
// CHECK:         %[[I:.*]] = stablehlo.reshape %[[C]] : (tensor<1x8x28x28x192xf32>) -> tensor<8x28x28x192xf32>
// CHECK:         %[[Y:.*]] = stablehlo.convolution(%[[I]], {{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = {{\[\[}}1, 1], [1, 1]]}
// CHECK:         stablehlo.reshape %[[Y]] : (tensor<8x28x28x64xf32>) -> tensor<1x8x28x28x64xf32>
func.func @frames(%x: tensor<1x8x28x28x64xf32>) -> tensor<1x8x28x28x64xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<3x3x3x64x64xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f], window = {pad = [[1, 1], [1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x28x28x64xf32>, tensor<3x3x3x64x64xf32>) -> tensor<1x8x28x28x64xf32>
  func.return %y : tensor<1x8x28x28x64xf32>
}

// Of few channels Winograd's transforms would cost more than they save.
// CHECK-LABEL: func.func @few_channels
// CHECK-NOT:     stablehlo.concatenate
func.func @few_channels(%x: tensor<1x8x28x28x2xf32>) -> tensor<1x8x28x28x4xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<3x3x3x2x4xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f], window = {pad = [[1, 1], [1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x28x28x2xf32>, tensor<3x3x3x2x4xf32>) -> tensor<1x8x28x28x4xf32>
  func.return %y : tensor<1x8x28x28x4xf32>
}

// A stride within the image is not Winograd's.
// CHECK-LABEL: func.func @strided
// CHECK-NOT:     stablehlo.concatenate
func.func @strided(%x: tensor<1x8x28x28x64xf32>) -> tensor<1x8x14x14x64xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<3x3x3x64x64xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f], window = {stride = [1, 2, 2], pad = [[1, 1], [1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x28x28x64xf32>, tensor<3x3x3x64x64xf32>) -> tensor<1x8x14x14x64xf32>
  func.return %y : tensor<1x8x14x14x64xf32>
}
