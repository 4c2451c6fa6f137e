// RUN: lamina-opt %s --machine x86-64-avx512 -p stablehlo-dilations-as-images | filecheck %s

// CHECK-LABEL: func.func @even
// CHECK:         stablehlo.reshape %x : (tensor<1x28x28x256xf32>) -> tensor<1x14x2x14x2x256xf32>
// CHECK:         stablehlo.transpose {{.*}} dims = [0, 2, 4, 1, 3, 5]
// CHECK:         stablehlo.convolution({{.*}} window = {{{.*}}pad = {{\[\[}}1, 1], [1, 1]]} {{.*}} -> tensor<4x14x14x256xf32>
// CHECK:         stablehlo.transpose {{.*}} dims = [0, 3, 1, 4, 2, 5] : (tensor<1x2x2x14x14x256xf32>) -> tensor<1x14x2x14x2x256xf32>
// CHECK-NOT:     stablehlo.slice
// CHECK:         func.return
func.func @even(%x: tensor<1x28x28x256xf32>) -> tensor<1x28x28x256xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<3x3x256x256xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[2, 2], [2, 2]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x28x28x256xf32>, tensor<3x3x256x256xf32>) -> tensor<1x28x28x256xf32>
  func.return %y : tensor<1x28x28x256xf32>
}

// Steps that do not divide the image: it is filled up, and what that adds is cut off.
// CHECK-LABEL: func.func @odd
// CHECK:         stablehlo.pad %x, {{.*}}, low = [0, 0, 0, 0], high = [0, 1, 0, 0]
// CHECK:         stablehlo.convolution({{.*}} -> tensor<4x28x28x128xf32>
// CHECK:         stablehlo.slice {{.*}} [0:1, 0:55, 0:56, 0:128]
func.func @odd(%x: tensor<1x55x56x128xf32>) -> tensor<1x55x56x128xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<3x3x128x128xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[2, 2], [2, 2]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x55x56x128xf32>, tensor<3x3x128x128xf32>) -> tensor<1x55x56x128xf32>
  func.return %y : tensor<1x55x56x128xf32>
}

// Of few channels Winograd's transforms would cost more than they save.
// CHECK-LABEL: func.func @few_channels
// CHECK-NOT:     stablehlo.transpose
func.func @few_channels(%x: tensor<1x28x28x2xf32>) -> tensor<1x28x28x4xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<3x3x2x4xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[2, 2], [2, 2]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x28x28x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x28x28x4xf32>
  func.return %y : tensor<1x28x28x4xf32>
}

// Zeros around that begin between steps would be other images' first rows.
// CHECK-LABEL: func.func @uneven
// CHECK-NOT:     stablehlo.transpose
func.func @uneven(%x: tensor<1x28x28x256xf32>) -> tensor<1x28x28x256xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<3x3x256x256xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 3], [1, 3]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x28x28x256xf32>, tensor<3x3x256x256xf32>) -> tensor<1x28x28x256xf32>
  func.return %y : tensor<1x28x28x256xf32>
}
