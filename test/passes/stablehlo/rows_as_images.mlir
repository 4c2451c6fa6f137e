// RUN: lamina-opt %s -p stablehlo-rows-as-images | filecheck %s

// CHECK-LABEL: @depthwise
// CHECK:       stablehlo.reshape %x : (tensor<2x50x16xf32>) -> tensor<2x1x50x16xf32>
// CHECK:       stablehlo.reshape %w : (tensor<5x1x16xf32>) -> tensor<1x5x1x16xf32>
// CHECK:       stablehlo.convolution({{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
// CHECK-SAME:  window = {stride = [1, 2], pad = {{\[\[}}0, 0], [4, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 2]}
// CHECK-SAME:  feature_group_count = 16
// CHECK-SAME:  -> tensor<2x1x24x16xf32>
// CHECK:       stablehlo.reshape {{.*}} -> tensor<2x24x16xf32>
func.func @depthwise(%x: tensor<2x50x16xf32>, %w: tensor<5x1x16xf32>) -> tensor<2x24x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[4, 1]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 16 : i64} : (tensor<2x50x16xf32>, tensor<5x1x16xf32>) -> tensor<2x24x16xf32>
  return %0 : tensor<2x24x16xf32>
}

// Channels that are summed up are a product's.
// CHECK-LABEL: @summed
// CHECK-NOT:   stablehlo.reshape
func.func @summed(%x: tensor<2x50x16xf32>, %w: tensor<5x16x16xf32>) -> tensor<2x46x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x50x16xf32>, tensor<5x16x16xf32>) -> tensor<2x46x16xf32>
  return %0 : tensor<2x46x16xf32>
}
