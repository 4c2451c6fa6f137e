// RUN: lamina-opt %s -p stablehlo-simplify --allow-unregistered-dialect | filecheck %s

// CHECK-LABEL: @transposes
// CHECK-NEXT:    %0 = stablehlo.transpose %x, dims = [1, 2, 0]
// CHECK-NEXT:    func.return %0
func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<3x4x2xf32> {
  %0 = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = stablehlo.transpose %0, dims = [2, 0, 1] : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  return %1 : tensor<3x4x2xf32>
}

// CHECK-LABEL: @transpose_of_units
// CHECK-NEXT:    %0 = stablehlo.reshape %x : (tensor<1x8x1x1xf32>) -> tensor<1x8xf32>
// CHECK-NEXT:    func.return %0
func.func @transpose_of_units(%x: tensor<1x8x1x1xf32>) -> tensor<1x8xf32> {
  %0 = stablehlo.transpose %x, dims = [0, 2, 3, 1] : (tensor<1x8x1x1xf32>) -> tensor<1x1x1x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x1x1x8xf32>) -> tensor<1x8xf32>
  return %1 : tensor<1x8xf32>
}

// CHECK-LABEL: @bias_through_reshape
// CHECK-NEXT:    %0 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<8xf32>) -> tensor<1x8x4x4xf32>
// CHECK-NEXT:    func.return %0
func.func @bias_through_reshape(%c: tensor<8xf32>) -> tensor<1x8x4x4xf32> {
  %0 = stablehlo.reshape %c : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3] : (tensor<1x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  return %1 : tensor<1x8x4x4xf32>
}

// CHECK-LABEL: @compute_before_repeating
// CHECK-NEXT:    %0 = stablehlo.add %a, %b : tensor<8xf32>
// CHECK-NEXT:    %1 = stablehlo.exponential %0 : tensor<8xf32>
// CHECK-NEXT:    %2 = stablehlo.broadcast_in_dim %1, dims = [1]
// CHECK-NEXT:    func.return %2
func.func @compute_before_repeating(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<4x8xf32>
  %3 = stablehlo.exponential %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// CHECK-LABEL: @slice_of_concatenate
// CHECK-NEXT:    %0 = stablehlo.slice %b [1:3]
// CHECK-NEXT:    func.return %0
func.func @slice_of_concatenate(%a: tensor<4xi32>, %b: tensor<4xi32>, %e: tensor<0xi32>) -> tensor<2xi32> {
  %0 = stablehlo.concatenate %a, %b, %e, dim = 0 : (tensor<4xi32>, tensor<4xi32>, tensor<0xi32>) -> tensor<8xi32>
  %1 = stablehlo.slice %0 [5:7] : (tensor<8xi32>) -> tensor<2xi32>
  return %1 : tensor<2xi32>
}

// Adding +0.0 turns -0.0 into +0.0, so it stays; -0.0 does nothing.
// CHECK-LABEL: @float_zero
// CHECK-NEXT:    %0 = stablehlo.constant dense<0.000000e+00>
// CHECK-NEXT:    %1 = stablehlo.add %x, %0
// CHECK-NEXT:    func.return %1
func.func @float_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<4xf32>
  %1 = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %2 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %3 = stablehlo.add %x, %0 : tensor<4xf32>
  %4 = stablehlo.add %1, %3 : tensor<4xf32>
  %5 = stablehlo.multiply %4, %2 : tensor<4xf32>
  return %5 : tensor<4xf32>
}

// CHECK-LABEL: @cube
// CHECK-NEXT:    %0 = stablehlo.multiply %x, %x
// CHECK-NEXT:    %1 = stablehlo.multiply %0, %x
// CHECK-NEXT:    func.return %1
func.func @cube(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.constant dense<3.0> : tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.power %x, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: @padding_into_convolution
// CHECK-NEXT:    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = {{\[\[}}2, 1{{\]\]}}}
// CHECK-NEXT:    func.return %0
func.func @padding_into_convolution(%x: tensor<1x2x4xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x5xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %z, low = [0, 0, 2], high = [0, 0, 1], interior = [0, 0, 0] : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x7xf32>
  %1 = stablehlo.convolution(%0, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  return %1 : tensor<1x3x5xf32>
}

// Three numbers, every fourth of which a window of three takes: the first and the last tap meet padding alone.
// CHECK-LABEL: @taps_on_padding
// CHECK-NEXT:    %[[W:.*]] = stablehlo.constant dense<2.000000e+00> : tensor<1x1x1xf32>
// CHECK-NEXT:    %{{.*}} = stablehlo.convolution(%x, %[[W]]) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = {{\[\[}}0, 0{{\]\]}}
func.func @taps_on_padding(%x: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
  %w = stablehlo.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[4, 4]], rhs_dilate = [4]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  return %0 : tensor<1x1x3xf32>
}

// Zero times infinity is no zero.
// CHECK-LABEL: @infinite_taps_on_padding
// CHECK:         stablehlo.convolution{{.*}}pad = {{\[\[}}4, 4{{\]\]}}
func.func @infinite_taps_on_padding(%x: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
  %w = stablehlo.constant dense<[[[0x7F800000, 2.0, 3.0]]]> : tensor<1x1x3xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[4, 4]], rhs_dilate = [4]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  return %0 : tensor<1x1x3xf32>
}

// Every other result reads every other tap, of one image with all the zeros that are wanted.
// CHECK-LABEL: @spread_image
// CHECK-DAG:     %[[EVEN:.*]] = stablehlo.constant dense<{{\[\[\[}}1.000000e+00, 3.000000e+00{{\]\]\]}}>
// CHECK-DAG:     %[[ODD:.*]] = stablehlo.constant dense<{{\[\[\[}}2.000000e+00, 4.000000e+00{{\]\]\]}}>
// CHECK-DAG:     %[[PADDED:.*]] = stablehlo.pad %x, %{{.*}}, low = [0, 0, 1], high = [0, 0, 1]
// CHECK-DAG:     stablehlo.convolution(%[[PADDED]], %[[EVEN]]) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = {{\[\[}}0, -1{{\]\]}}}
// CHECK-DAG:     stablehlo.convolution(%[[PADDED]], %[[ODD]]) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = {{\[\[}}-1, 0{{\]\]}}}
// CHECK:         stablehlo.concatenate
func.func @spread_image(%x: tensor<1x1x5xf32>) -> tensor<1x1x10xf32> {
  %w = stablehlo.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x4xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[2, 2]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x5xf32>, tensor<1x1x4xf32>) -> tensor<1x1x10xf32>
  return %0 : tensor<1x1x10xf32>
}

// Without a window that is one convolution, whose features become places, those of a place next to each other.
// CHECK-LABEL: @spread_image_without_window
// CHECK:         stablehlo.constant dense<{{\[\[\[}}2.000000e+00]], {{\[\[}}4.000000e+00]], {{\[\[}}1.000000e+00]], {{\[\[}}3.000000e+00]]]>
// CHECK:         stablehlo.convolution{{.*}} : (tensor<1x1x5xf32>, tensor<4x1x1xf32>) -> tensor<1x4x5xf32>
// CHECK-NOT:     stablehlo.convolution
func.func @spread_image_without_window(%x: tensor<1x1x5xf32>) -> tensor<1x2x10xf32> {
  %w = stablehlo.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[1, 1]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x5xf32>, tensor<2x1x2xf32>) -> tensor<1x2x10xf32>
  return %0 : tensor<1x2x10xf32>
}

// CHECK-LABEL: @transpose_into_dot
// CHECK-NEXT:    %0 = stablehlo.dot_general %q, %k, batching_dims = [1] x [1], contracting_dims = [2] x [2]
// CHECK-NEXT:    func.return %0
func.func @transpose_into_dot(%q: tensor<5x2x8xf32>, %k: tensor<5x2x8xf32>) -> tensor<2x5x5xf32> {
  %0 = stablehlo.transpose %q, dims = [1, 0, 2] : (tensor<5x2x8xf32>) -> tensor<2x5x8xf32>
  %1 = stablehlo.transpose %k, dims = [1, 2, 0] : (tensor<5x2x8xf32>) -> tensor<2x8x5xf32>
  %2 = stablehlo.dot_general %0, %1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x5x8xf32>, tensor<2x8x5xf32>) -> tensor<2x5x5xf32>
  return %2 : tensor<2x5x5xf32>
}

// The convolution, its bias, and the batch normalisation become one convolution and one bias.
// CHECK-LABEL: @batch_norm
// CHECK-NEXT:    %0 = stablehlo.constant dense<2.000000e+00> : tensor<2x1x1xf32>
// CHECK-NEXT:    %1 = stablehlo.convolution(%x, %0)
// CHECK-NEXT:    %2 = stablehlo.constant dense<[5.000000e+00, 7.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %3 = stablehlo.broadcast_in_dim %2, dims = [1]
// CHECK-NEXT:    %4 = stablehlo.add %1, %3
// CHECK-NEXT:    func.return %4
func.func @batch_norm(%x: tensor<1x1x8xf32>) -> tensor<1x2x8xf32> {
  %w = stablehlo.constant dense<1.0> : tensor<2x1x1xf32>
  %c = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %m = stablehlo.constant dense<1.0> : tensor<2xf32>
  %v = stablehlo.constant dense<0.25> : tensor<2xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x8xf32>, tensor<2x1x1xf32>) -> tensor<1x2x8xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<2xf32>) -> tensor<1x2x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x2x8xf32>
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %3 = "stablehlo.batch_norm_inference"(%2, %one, %m, %m, %v) {epsilon = 0.0 : f32, feature_index = 1 : i64} : (tensor<1x2x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x8xf32>
  return %3 : tensor<1x2x8xf32>
}

// CHECK-LABEL: @whole_window
// CHECK-NEXT:    %z = stablehlo.constant dense<0xff800000> : tensor<f32>
// CHECK-NEXT:    %0 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [2]
// CHECK-NEXT:    %1 = stablehlo.reshape %0 : (tensor<1x3xf32>) -> tensor<1x3x1xf32>
func.func @whole_window(%x: tensor<1x3x7xf32>) -> tensor<1x3x1xf32> {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 1, 7>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x3x7xf32>, tensor<f32>) -> tensor<1x3x1xf32>
  return %0 : tensor<1x3x1xf32>
}

// CHECK-LABEL: @gather_one
// CHECK-NEXT:    %0 = stablehlo.slice %x [0:2, 4:5, 0:3]
// CHECK-NEXT:    %1 = stablehlo.reshape %0 : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    func.return %1
func.func @gather_one(%x: tensor<2x5x3xf32>) -> tensor<2x3xf32> {
  %i = stablehlo.constant dense<9> : tensor<i64>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], collapsed_slice_dims = [1], start_index_map = [1]>, slice_sizes = array<i64: 2, 1, 3>}> : (tensor<2x5x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @known_branch
// CHECK-NEXT:    %0 = stablehlo.negate %x
// CHECK-NEXT:    func.return %0
func.func @known_branch(%x: tensor<2xf32>) -> tensor<2xf32> {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<2xf32>
  }, {
    %1 = stablehlo.negate %x : tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// An image of one point meets one tap of the filters in each result.
// CHECK-LABEL: @one_point
// CHECK-NOT:   stablehlo.convolution
// CHECK:       stablehlo.dot_general {{.*}} contracting_dims = [1] x [0]{{.*}} : (tensor<2x5xf32>, tensor<5x32xf32>) -> tensor<2x32xf32>
// CHECK:       stablehlo.reshape {{.*}} -> tensor<2x2x4x4xf32>
func.func @one_point(%x: tensor<2x5x1x1xf32>) -> tensor<2x2x4x4xf32> {
  %w = stablehlo.constant dense<0.5> : tensor<2x5x4x4xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[3, 3], [3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x1x1xf32>, tensor<2x5x4x4xf32>) -> tensor<2x2x4x4xf32>
  return %0 : tensor<2x2x4x4xf32>
}

// CHECK-LABEL: @by_a_repeated_root
// CHECK-NEXT:    %0 = stablehlo.rsqrt %v : tensor<4xf32>
// CHECK-NEXT:    %1 = stablehlo.broadcast_in_dim %0, dims = [0]
// CHECK-NEXT:    %2 = stablehlo.multiply %x, %1
// CHECK-NEXT:    func.return %2
func.func @by_a_repeated_root(%x: tensor<4x8xf32>, %v: tensor<4xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.sqrt %v : tensor<4xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.divide %x, %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// CHECK-LABEL: @by_a_repeated_root_or_more
// CHECK:         %[[M:.*]] = stablehlo.maximum
// CHECK:         %[[R:.*]] = stablehlo.divide %{{.*}}, %[[M]] : tensor<4xf32>
// CHECK-NEXT:    %[[B:.*]] = stablehlo.broadcast_in_dim %[[R]], dims = [0]
// CHECK-NEXT:    stablehlo.multiply %x, %[[B]]
func.func @by_a_repeated_root_or_more(%x: tensor<4x8xf32>, %v: tensor<4xf32>) -> tensor<4x8xf32> {
  %c = stablehlo.constant dense<1.0e-12> : tensor<4xf32>
  %0 = stablehlo.sqrt %v : tensor<4xf32>
  %m = stablehlo.maximum %0, %c : tensor<4xf32>
  %1 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.divide %x, %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// Nothing is known of %v, halves would be rounded coarsely, the reciprocal of 1e-40 is infinite, and a root for each
// number is no less work.
// CHECK-LABEL: @quotients_that_stay
// CHECK-NOT:     rsqrt
// CHECK-COUNT-4: stablehlo.divide
// CHECK-NOT:     stablehlo.multiply
func.func @quotients_that_stay(%x: tensor<4x8xf32>, %v: tensor<4xf32>, %h: tensor<4x8xf16>, %w: tensor<4xf16>, %s: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.divide %x, %0 : tensor<4x8xf32>
  %2 = stablehlo.sqrt %w : tensor<4xf16>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<4xf16>) -> tensor<4x8xf16>
  %4 = stablehlo.divide %h, %3 : tensor<4x8xf16>
  %c = stablehlo.constant dense<1.0e-40> : tensor<4xf32>
  %5 = stablehlo.sqrt %v : tensor<4xf32>
  %6 = stablehlo.maximum %5, %c : tensor<4xf32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %8 = stablehlo.divide %x, %7 : tensor<4x8xf32>
  %9 = stablehlo.sqrt %s : tensor<4x8xf32>
  %10 = stablehlo.divide %x, %9 : tensor<4x8xf32>
  return %1, %4, %8, %10 : tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf32>, tensor<4x8xf32>
}

// What every iteration hands on as it got it is read from outside: the table and the end, not the number and the sum.
// CHECK-LABEL: @stays
// CHECK:         %[[R:.*]], %[[SUM:.*]] = stablehlo.while(%i = %zero, %sum = %x) : tensor<i32>, tensor<4xf32>
// CHECK:           stablehlo.compare LT, %i, %n
// CHECK:           stablehlo.dynamic_slice %w, %i, %zero
// CHECK:           stablehlo.return %{{.*}}, %{{.*}} : tensor<i32>, tensor<4xf32>
// CHECK:         func.return %w, %[[SUM]], %n
func.func @stays(%x: tensor<4xf32>, %w: tensor<8x4xf32>, %n: tensor<i32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:4 = stablehlo.while(%table = %w, %i = %zero, %sum = %x, %end = %n) : tensor<8x4xf32>, tensor<i32>, tensor<4xf32>, tensor<i32>
    cond {
      %p = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %row = stablehlo.dynamic_slice %table, %i, %zero, sizes = [1, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
      %flat = stablehlo.reshape %row : (tensor<1x4xf32>) -> tensor<4xf32>
      %next = stablehlo.add %sum, %flat : tensor<4xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %table, %j, %next, %end : tensor<8x4xf32>, tensor<i32>, tensor<4xf32>, tensor<i32>
    }
  func.return %r#0, %r#2, %r#3 : tensor<8x4xf32>, tensor<4xf32>, tensor<i32>
}

// What stays may become another part of the state, and more may stay then: the same from the second round on.
// CHECK-LABEL: @hands_on_what_stays
// CHECK:         stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4xf32>
// CHECK:           stablehlo.return %{{.*}}, %y : tensor<i32>, tensor<4xf32>
func.func @hands_on_what_stays(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %y) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %b, %b : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    }
  func.return %r#1 : tensor<4xf32>
}
