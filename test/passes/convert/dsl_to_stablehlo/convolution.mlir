// Sums of products with windows.
// RUN: lamina-opt %s -p convert-dsl-to-stablehlo,canonicalize,cse | filecheck %s

// Stride, dilation, and zeros outside as padding.
// CHECK-LABEL: func.func @conv2d(
// CHECK-NEXT: %y = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = {{\[\[}}1, 1], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x9x9xf32>, tensor<4x3x3x2xf32>) -> tensor<2x4x5x7xf32>
// CHECK-NEXT: func.return %y : tensor<2x4x5x7xf32>
func.func @conv2d(%x: tensor<2x3x9x9xf32>, %k: tensor<4x3x3x2xf32>) -> tensor<2x4x5x7xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %c1 = stablehlo.constant dense<1> : tensor<i64>
  %c2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %y = dsl.comprehension [2, 4, 5, 7] {
  ^bb0(%n: tensor<i64>, %f: tensor<i64>, %p: tensor<i64>, %q: tensor<i64>):
    %v1 = dsl.reduce sum [3, 3, 2] {
    ^bb0(%c: tensor<i64>, %r: tensor<i64>, %t: tensor<i64>):
      %v2 = stablehlo.multiply %p, %c0 : tensor<i64>
      %v3 = stablehlo.add %v2, %r : tensor<i64>
      %v4 = stablehlo.subtract %v3, %c1 : tensor<i64>
      %v5 = stablehlo.multiply %t, %c0 : tensor<i64>
      %v6 = stablehlo.add %q, %v5 : tensor<i64>
      %v7 = dsl.access %x[%n, %c, %v4, %v6] outside %c2 : tensor<2x3x9x9xf32>
      %v8 = dsl.access %k[%f, %c, %r, %t] : tensor<4x3x3x2xf32>
      %v9 = stablehlo.multiply %v7, %v8 : tensor<f32>
      dsl.yield %v9 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x4x5x7xf32>
  func.return %y : tensor<2x4x5x7xf32>
}

// The axes' order is the convolution's.
// CHECK-LABEL: func.func @nhwc(
// CHECK-NEXT: %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = {{\[\[}}0, 0]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x3xf32>, tensor<5x3x4xf32>) -> tensor<2x5x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x5x4xf32>
func.func @nhwc(%x: tensor<2x9x3xf32>, %k: tensor<5x3x4xf32>) -> tensor<2x5x4xf32> {
  %y = dsl.comprehension [2, 5, 4] {
  ^bb0(%n: tensor<i64>, %p: tensor<i64>, %f: tensor<i64>):
    %v1 = dsl.reduce sum [5, 3] {
    ^bb0(%r: tensor<i64>, %c: tensor<i64>):
      %v2 = stablehlo.add %p, %r : tensor<i64>
      %v3 = dsl.access %x[%n, %v2, %c] : tensor<2x9x3xf32>
      %v4 = dsl.access %k[%r, %c, %f] : tensor<5x3x4xf32>
      %v5 = stablehlo.multiply %v3, %v4 : tensor<f32>
      dsl.yield %v5 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x5x4xf32>
  func.return %y : tensor<2x5x4xf32>
}

// A kernel that runs backwards is reversed.
// CHECK-LABEL: func.func @flipped(
// CHECK-NEXT: %0 = stablehlo.reshape %x : (tensor<9xf32>) -> tensor<1x1x9xf32>
// CHECK-NEXT: %1 = stablehlo.reshape %k : (tensor<3xf32>) -> tensor<1x1x3xf32>
// CHECK-NEXT: %2 = stablehlo.reverse %1, dims = [2] : tensor<1x1x3xf32>
// CHECK-NEXT: %3 = stablehlo.convolution(%0, %2) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = {{\[\[}}0, 0]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x9xf32>, tensor<1x1x3xf32>) -> tensor<1x1x7xf32>
// CHECK-NEXT: %y = stablehlo.reshape %3 : (tensor<1x1x7xf32>) -> tensor<7xf32>
// CHECK-NEXT: func.return %y : tensor<7xf32>
func.func @flipped(%x: tensor<9xf32>, %k: tensor<3xf32>) -> tensor<7xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %y = dsl.comprehension [7] {
  ^bb0(%p: tensor<i64>):
    %v1 = dsl.reduce sum [3] {
    ^bb0(%r: tensor<i64>):
      %v2 = stablehlo.subtract %p, %r : tensor<i64>
      %v3 = stablehlo.add %v2, %c0 : tensor<i64>
      %v4 = dsl.access %x[%v3] : tensor<9xf32>
      %v5 = dsl.access %k[%r] : tensor<3xf32>
      %v6 = stablehlo.multiply %v4, %v5 : tensor<f32>
      dsl.yield %v6 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<7xf32>
  func.return %y : tensor<7xf32>
}

// A channel of its own for each output: depthwise.
// CHECK-LABEL: func.func @depthwise(
// CHECK-NEXT: %0 = stablehlo.reshape %k : (tensor<6x3xf32>) -> tensor<1x6x3xf32>
// CHECK-NEXT: %y = stablehlo.convolution(%x, %0) dim_numbers = [b, f, 0]x[i, o, 0]->[b, f, 0], window = {stride = [1], pad = {{\[\[}}0, 0]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 6 : i64} : (tensor<2x6x9xf32>, tensor<1x6x3xf32>) -> tensor<2x6x7xf32>
// CHECK-NEXT: func.return %y : tensor<2x6x7xf32>
func.func @depthwise(%x: tensor<2x6x9xf32>, %k: tensor<6x3xf32>) -> tensor<2x6x7xf32> {
  %y = dsl.comprehension [2, 6, 7] {
  ^bb0(%n: tensor<i64>, %o: tensor<i64>, %p: tensor<i64>):
    %v1 = dsl.reduce sum [3] {
    ^bb0(%r: tensor<i64>):
      %v2 = stablehlo.add %p, %r : tensor<i64>
      %v3 = dsl.access %x[%n, %o, %v2] : tensor<2x6x9xf32>
      %v4 = dsl.access %k[%o, %r] : tensor<6x3xf32>
      %v5 = stablehlo.multiply %v3, %v4 : tensor<f32>
      dsl.yield %v5 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x6x7xf32>
  func.return %y : tensor<2x6x7xf32>
}

// Channels by group.
// CHECK-LABEL: func.func @grouped(
// CHECK-NEXT: %0 = stablehlo.reshape %x : (tensor<2x6x9xf32>) -> tensor<2x2x3x9xf32>
// CHECK-NEXT: %1 = stablehlo.reshape %k : (tensor<4x3x3xf32>) -> tensor<2x2x3x3xf32>
// CHECK-NEXT: %2 = stablehlo.reshape %0 : (tensor<2x2x3x9xf32>) -> tensor<2x6x9xf32>
// CHECK-NEXT: %3 = stablehlo.reshape %1 : (tensor<2x2x3x3xf32>) -> tensor<4x3x3xf32>
// CHECK-NEXT: %4 = stablehlo.convolution(%2, %3) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = {{\[\[}}0, 0]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x9xf32>, tensor<4x3x3xf32>) -> tensor<2x4x7xf32>
// CHECK-NEXT: %5 = stablehlo.reshape %4 : (tensor<2x4x7xf32>) -> tensor<2x2x2x7xf32>
// CHECK-NEXT: %y = stablehlo.reshape %5 : (tensor<2x2x2x7xf32>) -> tensor<2x4x7xf32>
// CHECK-NEXT: func.return %y : tensor<2x4x7xf32>
func.func @grouped(%x: tensor<2x6x9xf32>, %k: tensor<4x3x3xf32>) -> tensor<2x4x7xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %c1 = stablehlo.constant dense<3> : tensor<i64>
  %y = dsl.comprehension [2, 4, 7] {
  ^bb0(%n: tensor<i64>, %o: tensor<i64>, %p: tensor<i64>):
    %v1 = dsl.reduce sum [3, 3] {
    ^bb0(%c: tensor<i64>, %r: tensor<i64>):
      %v2 = stablehlo.divide %o, %c0 : tensor<i64>
      %v3 = stablehlo.multiply %v2, %c1 : tensor<i64>
      %v4 = stablehlo.add %v3, %c : tensor<i64>
      %v5 = stablehlo.add %p, %r : tensor<i64>
      %v6 = dsl.access %x[%n, %v4, %v5] : tensor<2x6x9xf32>
      %v7 = dsl.access %k[%o, %c, %r] : tensor<4x3x3xf32>
      %v8 = stablehlo.multiply %v6, %v7 : tensor<f32>
      dsl.yield %v8 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x4x7xf32>
  func.return %y : tensor<2x4x7xf32>
}

// An expression of what is read: the window is over its elements.
// CHECK-LABEL: func.func @quantized(
// CHECK-NEXT: %v4 = stablehlo.convert %x : (tensor<2x3x8xi8>) -> tensor<2x3x8xi32>
// CHECK-NEXT: %0 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<i32>) -> tensor<2x3x8xi32>
// CHECK-NEXT: %v5 = stablehlo.subtract %v4, %0 : tensor<2x3x8xi32>
// CHECK-NEXT: %v7 = stablehlo.convert %k : (tensor<4x3x3xi8>) -> tensor<4x3x3xi32>
// CHECK-NEXT: %y = stablehlo.convolution(%v5, %v7) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = {{\[\[}}0, 0]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x8xi32>, tensor<4x3x3xi32>) -> tensor<2x4x6xi32>
// CHECK-NEXT: func.return %y : tensor<2x4x6xi32>
func.func @quantized(%x: tensor<2x3x8xi8>, %k: tensor<4x3x3xi8>, %z: tensor<i32>) -> tensor<2x4x6xi32> {
  %y = dsl.comprehension [2, 4, 6] {
  ^bb0(%n: tensor<i64>, %o: tensor<i64>, %p: tensor<i64>):
    %v1 = dsl.reduce sum [3, 3] {
    ^bb0(%c: tensor<i64>, %r: tensor<i64>):
      %v2 = stablehlo.add %p, %r : tensor<i64>
      %v3 = dsl.access %x[%n, %c, %v2] : tensor<2x3x8xi8>
      %v4 = stablehlo.convert %v3 : (tensor<i8>) -> tensor<i32>
      %v5 = stablehlo.subtract %v4, %z : tensor<i32>
      %v6 = dsl.access %k[%o, %c, %r] : tensor<4x3x3xi8>
      %v7 = stablehlo.convert %v6 : (tensor<i8>) -> tensor<i32>
      %v8 = stablehlo.multiply %v5, %v7 : tensor<i32>
      dsl.yield %v8 : tensor<i32>
    } : tensor<i32>
    dsl.yield %v1 : tensor<i32>
  } : tensor<2x4x6xi32>
  func.return %y : tensor<2x4x6xi32>
}
