// RUN: lamina-opt %s -p stablehlo-propagate-layout | filecheck %s

// Two convolutions with what stands between them: one transpose before, one after.
// CHECK-LABEL: @network
// CHECK:       stablehlo.transpose %x, dims = [0, 2, 3, 1] : (tensor<1x2x6x6xf32>) -> tensor<1x6x6x2xf32>
// CHECK:       stablehlo.convolution({{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
// CHECK-NOT:   stablehlo.transpose
// CHECK:       stablehlo.broadcast_in_dim %c, dims = [3] : (tensor<4xf32>) -> tensor<1x6x6x4xf32>
// CHECK:       "stablehlo.reduce_window"
// CHECK-SAME:  window_dimensions = array<i64: 1, 2, 2, 1>
// CHECK:       stablehlo.concatenate {{.*}}, dim = 3
// CHECK:       stablehlo.pad {{.*}}, low = [0, 1, 0, 0], high = [0, 0, 1, 0], interior = [0, 0, 0, 0]
// CHECK:       stablehlo.convolution({{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
// CHECK-SAME:  -> tensor<1x3x3x8xf32>
// CHECK:       stablehlo.transpose {{.*}}, dims = [0, 3, 1, 2]
// CHECK-NEXT:  func.return
func.func @network(%x: tensor<1x2x6x6xf32>, %c: tensor<4xf32>) -> tensor<1x8x3x3xf32> {
  %w = stablehlo.constant dense<0.5> : tensor<4x2x1x1xf32>
  %v = stablehlo.constant dense<0.5> : tensor<8x2x2x2xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x6x6xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x6x6xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<4xf32>) -> tensor<1x4x6x6xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x4x6x6xf32>
  %3 = "stablehlo.reduce_window"(%2, %z) <{window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x4x6x6xf32>, tensor<f32>) -> tensor<1x4x3x3xf32>
  %4 = stablehlo.concatenate %3, %3, dim = 1 : (tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>) -> tensor<1x8x3x3xf32>
  %5 = stablehlo.pad %4, %one, low = [0, 0, 1, 0], high = [0, 0, 0, 1], interior = [0, 0, 0, 0] : (tensor<1x8x3x3xf32>, tensor<f32>) -> tensor<1x8x4x4xf32>
  %6 = stablehlo.convolution(%5, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<1x8x4x4xf32>, tensor<8x2x2x2xf32>) -> tensor<1x8x3x3xf32>
  return %6 : tensor<1x8x3x3xf32>
}

// A mean over space needs no transpose after it.
// CHECK-LABEL: @spatial_sum
// CHECK:       stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x5x5x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:  func.return
func.func @spatial_sum(%x: tensor<2x5x5x3xf32>) -> tensor<2x3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.transpose %x, dims = [0, 3, 1, 2] : (tensor<2x5x5x3xf32>) -> tensor<2x3x5x5xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [2, 3] : (tensor<2x3x5x5xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// Patches to a sequence: the reshape merges space, which stays together.
// CHECK-LABEL: @patches
// CHECK-NEXT:  %0 = stablehlo.reshape %x : (tensor<1x4x4x8xf32>) -> tensor<1x16x8xf32>
// CHECK-NEXT:  func.return %0
func.func @patches(%x: tensor<1x4x4x8xf32>) -> tensor<1x16x8xf32> {
  %0 = stablehlo.transpose %x, dims = [0, 3, 1, 2] : (tensor<1x4x4x8xf32>) -> tensor<1x8x4x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x8x4x4xf32>) -> tensor<1x8x16xf32>
  %2 = stablehlo.transpose %1, dims = [0, 2, 1] : (tensor<1x8x16xf32>) -> tensor<1x16x8xf32>
  return %2 : tensor<1x16x8xf32>
}

// A channel shuffle exchanges the two parts of the innermost dimension.
// CHECK-LABEL: @shuffle
// CHECK-NEXT:  %0 = stablehlo.reshape %x : (tensor<1x4x4x6xf32>) -> tensor<1x4x4x2x3xf32>
// CHECK-NEXT:  %1 = stablehlo.transpose %0, dims = [0, 1, 2, 4, 3]
// CHECK-NEXT:  %2 = stablehlo.reshape %1 : (tensor<1x4x4x3x2xf32>) -> tensor<1x4x4x6xf32>
// CHECK-NEXT:  %3 = stablehlo.transpose %2, dims = [0, 3, 1, 2]
// CHECK-NEXT:  func.return %3
func.func @shuffle(%x: tensor<1x4x4x6xf32>) -> tensor<1x6x4x4xf32> {
  %0 = stablehlo.transpose %x, dims = [0, 3, 1, 2] : (tensor<1x4x4x6xf32>) -> tensor<1x6x4x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x6x4x4xf32>) -> tensor<1x2x3x4x4xf32>
  %2 = stablehlo.transpose %1, dims = [0, 2, 1, 3, 4] : (tensor<1x2x3x4x4xf32>) -> tensor<1x3x2x4x4xf32>
  %3 = stablehlo.reshape %2 : (tensor<1x3x2x4x4xf32>) -> tensor<1x6x4x4xf32>
  return %3 : tensor<1x6x4x4xf32>
}

// Flattening for a classifier: the rows of the weights change places at compile time.
// CHECK-LABEL: @classifier
// CHECK-NOT:   stablehlo.transpose
// CHECK:       stablehlo.constant dense<{{\[\[}}0.000000e+00], [2.000000e+00], [1.000000e+00], [3.000000e+00]]>
// CHECK:       func.return
func.func @classifier(%x: tensor<1x2x1x2xf32>) -> tensor<1x1xf32> {
  %w = stablehlo.constant dense<[[0.0], [1.0], [2.0], [3.0]]> : tensor<4x1xf32>
  %0 = stablehlo.transpose %x, dims = [0, 3, 1, 2] : (tensor<1x2x1x2xf32>) -> tensor<1x2x2x1xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x2x2x1xf32>) -> tensor<1x4xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<1x4xf32>, tensor<4x1xf32>) -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}

// Images grow by elements repeated, and by elements picked at known places: channels stay last.
// CHECK-LABEL: @growing
// CHECK:       stablehlo.convolution
// CHECK-NOT:   stablehlo.transpose
// CHECK:       stablehlo.broadcast_in_dim {{.*}}, dims = [1, 3, 5] : (tensor<6x6x4xf32>) -> tensor<1x6x2x6x2x4xf32>
// CHECK:       stablehlo.reshape {{.*}} -> tensor<1x12x12x4xf32>
// CHECK:       "stablehlo.gather"
// CHECK-SAME:  offset_dims = [0, 1, 3], collapsed_slice_dims = [2], start_index_map = [2], index_vector_dim = 1
// CHECK:       stablehlo.convolution
// CHECK-SAME:  -> tensor<1x12x3x8xf32>
// CHECK:       stablehlo.transpose {{.*}}, dims = [0, 3, 1, 2]
func.func @growing(%x: tensor<1x2x6x6xf32>) -> tensor<1x8x12x3xf32> {
  %w = stablehlo.constant dense<0.5> : tensor<4x2x1x1xf32>
  %v = stablehlo.constant dense<0.5> : tensor<8x4x1x1xf32>
  %i = stablehlo.constant dense<[0, 3, 11]> : tensor<3xi32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x6x6xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x6x6xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x1x6x1xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3, 4, 5] : (tensor<1x4x6x1x6x1xf32>) -> tensor<1x4x6x2x6x2xf32>
  %3 = stablehlo.reshape %2 : (tensor<1x4x6x2x6x2xf32>) -> tensor<1x4x12x12xf32>
  %4 = "stablehlo.gather"(%3, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1, 2], collapsed_slice_dims = [3], start_index_map = [3], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4, 12, 1>, indices_are_sorted = false}> : (tensor<1x4x12x12xf32>, tensor<3xi32>) -> tensor<1x4x12x3xf32>
  %5 = stablehlo.convolution(%4, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x12x3xf32>, tensor<8x4x1x1xf32>) -> tensor<1x8x12x3xf32>
  return %5 : tensor<1x8x12x3xf32>
}

// Bytes that lose or take a sign between two convolutions stay where they are.
// CHECK-LABEL: func.func @signs
// CHECK:       stablehlo.convolution
// CHECK-NOT:   stablehlo.transpose
// CHECK:       stablehlo.bitcast_convert {{.*}} : (tensor<1x6x6x4xui8>) -> tensor<1x6x6x4xi8>
// CHECK-NOT:   stablehlo.transpose
// CHECK:       stablehlo.convolution
func.func @signs(%x: tensor<1x2x6x6xi8>) -> tensor<1x8x6x6xi32> {
  %w = stablehlo.constant dense<1> : tensor<4x2x1x1xi8>
  %v = stablehlo.constant dense<1> : tensor<8x4x1x1xi8>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x6x6xi8>, tensor<4x2x1x1xi8>) -> tensor<1x4x6x6xi32>
  %1 = stablehlo.convert %0 : (tensor<1x4x6x6xi32>) -> tensor<1x4x6x6xui8>
  %2 = stablehlo.bitcast_convert %1 : (tensor<1x4x6x6xui8>) -> tensor<1x4x6x6xi8>
  %3 = stablehlo.convolution(%2, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x6x6xi8>, tensor<8x4x1x1xi8>) -> tensor<1x8x6x6xi32>
  return %3 : tensor<1x8x6x6xi32>
}
