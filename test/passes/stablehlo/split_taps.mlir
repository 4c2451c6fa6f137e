// RUN: lamina-opt %s -p stablehlo-split-taps | filecheck %s

// A tap that meets the image everywhere, then those that meet 16 of 28 elements.
// CHECK-LABEL: func.func @far
// CHECK:         %[[A:.*]] = stablehlo.convolution(%x, %{{.*}}) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {{.*}} : (tensor<1x28x512xf32>, tensor<1x512x1024xf32>) -> tensor<1x28x1024xf32>
// CHECK:         %[[X:.*]] = stablehlo.slice %x [0:1, 0:16, 0:512]
// CHECK:         %[[B:.*]] = stablehlo.convolution(%[[X]], {{.*}} -> tensor<1x16x1024xf32>
// CHECK:         %[[S:.*]] = stablehlo.slice %[[A]] [0:1, 12:28, 0:1024]
// CHECK:         %[[N:.*]] = stablehlo.add %[[S]], %[[B]] : tensor<1x16x1024xf32>
// CHECK:         %[[T:.*]] = stablehlo.dynamic_update_slice %[[A]], %[[N]],
// CHECK:         stablehlo.slice %x [0:1, 12:28, 0:512]
// CHECK:         stablehlo.slice %[[T]] [0:1, 0:16, 0:1024]
// CHECK:         %[[Y:.*]] = stablehlo.dynamic_update_slice %[[T]],
// CHECK:         func.return %[[Y]]
func.func @far(%x: tensor<1x28x512xf32>) -> tensor<1x28x1024xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<3x512x1024xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[12, 12]], rhs_dilate = [12]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x28x512xf32>, tensor<3x512x1024xf32>) -> tensor<1x28x1024xf32>
  func.return %y : tensor<1x28x1024xf32>
}

// Neither of two taps meets the image everywhere: the first is put among zeros.
// CHECK-LABEL: func.func @causal
// CHECK:         %[[A:.*]] = stablehlo.convolution({{.*}} -> tensor<1x500x256xf32>
// CHECK:         stablehlo.pad %[[A]], {{.*}}, low = [0, 500, 0], high = [0, 0, 0]
// CHECK:         stablehlo.convolution({{.*}} -> tensor<1x100x256xf32>
// CHECK:         stablehlo.dynamic_update_slice
// CHECK-NOT:     stablehlo.convolution
func.func @causal(%x: tensor<1x500x128xf32>) -> tensor<1x1000x256xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<2x128x256xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[900, 0]], rhs_dilate = [400]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x500x128xf32>, tensor<2x128x256xf32>) -> tensor<1x1000x256xf32>
  func.return %y : tensor<1x1000x256xf32>
}

// Little is saved of near taps, nothing of what is small, and filters may be infinite: in these the window stays.
// CHECK-LABEL: func.func @near
// CHECK:         rhs_dilate = [2]
// CHECK-NOT:     stablehlo.slice
func.func @near(%x: tensor<1x28x512xf32>) -> tensor<1x28x1024xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<3x512x1024xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 2]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x28x512xf32>, tensor<3x512x1024xf32>) -> tensor<1x28x1024xf32>
  func.return %y : tensor<1x28x1024xf32>
}

// CHECK-LABEL: func.func @small
// CHECK:         rhs_dilate = [12]
// CHECK-NOT:     stablehlo.slice
func.func @small(%x: tensor<1x28x64xf32>) -> tensor<1x28x64xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<3x64x64xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[12, 12]], rhs_dilate = [12]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x28x64xf32>, tensor<3x64x64xf32>) -> tensor<1x28x64xf32>
  func.return %y : tensor<1x28x64xf32>
}

// CHECK-LABEL: func.func @infinite
// CHECK:         rhs_dilate = [12]
// CHECK-NOT:     stablehlo.slice
func.func @infinite(%x: tensor<1x28x512xf32>) -> tensor<1x28x1024xf32> {
  %w = stablehlo.constant dense<0x7F800000> : tensor<3x512x1024xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[12, 12]], rhs_dilate = [12]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x28x512xf32>, tensor<3x512x1024xf32>) -> tensor<1x28x1024xf32>
  func.return %y : tensor<1x28x1024xf32>
}

// CHECK-LABEL: func.func @unknown
// CHECK:         rhs_dilate = [12]
// CHECK-NOT:     stablehlo.slice
func.func @unknown(%x: tensor<1x28x512xf32>, %w: tensor<3x512x1024xf32>) -> tensor<1x28x1024xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[12, 12]], rhs_dilate = [12]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x28x512xf32>, tensor<3x512x1024xf32>) -> tensor<1x28x1024xf32>
  func.return %y : tensor<1x28x1024xf32>
}
