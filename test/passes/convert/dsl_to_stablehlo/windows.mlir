// Reductions over windows without a product.
// RUN: lamina-opt %s -p convert-dsl-to-stablehlo,canonicalize,cse | filecheck %s

// The largest of each window; the neutral element outside is padding.
// CHECK-LABEL: func.func @largest(
// CHECK-NEXT: %c2 = stablehlo.constant dense<0xff800000> : tensor<f32>
// CHECK-NEXT: %y = "stablehlo.reduce_window"(%x, %c2) <{window_dimensions = array<i64: 1, 3, 3>, window_strides = array<i64: 1, 2, 2>, window_dilations = array<i64: 1, 1, 1>, padding = dense<{{\[\[}}0, 0], [1, 1], [1, 1]]> : tensor<3x2xi64>}> ({
// CHECK-NEXT: ^bb0(%0: tensor<f32>, %1: tensor<f32>):
// CHECK-NEXT: %2 = stablehlo.maximum %0, %1 : tensor<f32>
// CHECK-NEXT: stablehlo.return %2 : tensor<f32>
// CHECK-NEXT: }) : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x4x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4x4xf32>
func.func @largest(%x: tensor<2x8x8xf32>) -> tensor<2x4x4xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %c1 = stablehlo.constant dense<1> : tensor<i64>
  %c2 = stablehlo.constant dense<0xff800000> : tensor<f32>
  %y = dsl.comprehension [2, 4, 4] {
  ^bb0(%n: tensor<i64>, %p: tensor<i64>, %q: tensor<i64>):
    %v1 = dsl.reduce max [3, 3] {
    ^bb0(%r: tensor<i64>, %s: tensor<i64>):
      %v2 = stablehlo.multiply %p, %c0 : tensor<i64>
      %v3 = stablehlo.add %v2, %r : tensor<i64>
      %v4 = stablehlo.subtract %v3, %c1 : tensor<i64>
      %v5 = stablehlo.multiply %q, %c0 : tensor<i64>
      %v6 = stablehlo.add %v5, %s : tensor<i64>
      %v7 = stablehlo.subtract %v6, %c1 : tensor<i64>
      %v8 = dsl.access %x[%n, %v4, %v7] outside %c2 : tensor<2x8x8xf32>
      dsl.yield %v8 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x4x4xf32>
  func.return %y : tensor<2x4x4xf32>
}

// The sum of each window, divided afterwards.
// CHECK-LABEL: func.func @average(
// CHECK-NEXT: %c1 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = "stablehlo.reduce_window"(%x, %0) <{window_dimensions = array<i64: 1, 2, 2>, window_strides = array<i64: 1, 2, 2>, window_dilations = array<i64: 1, 1, 1>, padding = dense<0> : tensor<3x2xi64>}> ({
// CHECK-NEXT: ^bb0(%2: tensor<f32>, %3: tensor<f32>):
// CHECK-NEXT: %4 = stablehlo.add %2, %3 : tensor<f32>
// CHECK-NEXT: stablehlo.return %4 : tensor<f32>
// CHECK-NEXT: }) : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x4x4xf32>
// CHECK-NEXT: %5 = stablehlo.broadcast_in_dim %c1, dims = [] : (tensor<f32>) -> tensor<2x4x4xf32>
// CHECK-NEXT: %y = stablehlo.divide %1, %5 : tensor<2x4x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4x4xf32>
func.func @average(%x: tensor<2x8x8xf32>) -> tensor<2x4x4xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %c1 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
  %y = dsl.comprehension [2, 4, 4] {
  ^bb0(%n: tensor<i64>, %p: tensor<i64>, %q: tensor<i64>):
    %v1 = dsl.reduce sum [2, 2] {
    ^bb0(%r: tensor<i64>, %s: tensor<i64>):
      %v2 = stablehlo.multiply %p, %c0 : tensor<i64>
      %v3 = stablehlo.add %v2, %r : tensor<i64>
      %v4 = stablehlo.multiply %q, %c0 : tensor<i64>
      %v5 = stablehlo.add %v4, %s : tensor<i64>
      %v6 = dsl.access %x[%n, %v3, %v5] : tensor<2x8x8xf32>
      %v7 = stablehlo.divide %v6, %c1 : tensor<f32>
      dsl.yield %v7 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x4x4xf32>
  func.return %y : tensor<2x4x4xf32>
}

// A value outside that is not neutral is padded before.
// CHECK-LABEL: func.func @max_pool(
// CHECK-NEXT: %c2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.constant dense<0xff800000> : tensor<f32>
// CHECK-NEXT: %1 = stablehlo.pad %x, %c2, low = [0, 1], high = [0, 0], interior = [0, 0] : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x9xf32>
// CHECK-NEXT: %y = "stablehlo.reduce_window"(%1, %0) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>, window_dilations = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>}> ({
// CHECK-NEXT: ^bb0(%2: tensor<f32>, %3: tensor<f32>):
// CHECK-NEXT: %4 = stablehlo.maximum %2, %3 : tensor<f32>
// CHECK-NEXT: stablehlo.return %4 : tensor<f32>
// CHECK-NEXT: }) : (tensor<2x9xf32>, tensor<f32>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x4xf32>
func.func @max_pool(%x: tensor<2x8xf32>) -> tensor<2x4xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %c1 = stablehlo.constant dense<1> : tensor<i64>
  %c2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %y = dsl.comprehension [2, 4] {
  ^bb0(%n: tensor<i64>, %p: tensor<i64>):
    %v1 = dsl.reduce max [3] {
    ^bb0(%r: tensor<i64>):
      %v2 = stablehlo.multiply %p, %c0 : tensor<i64>
      %v3 = stablehlo.add %v2, %r : tensor<i64>
      %v4 = stablehlo.subtract %v3, %c1 : tensor<i64>
      %v5 = dsl.access %x[%n, %v4] outside %c2 : tensor<2x8xf32>
      dsl.yield %v5 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// Windows that wrap around: the rim comes first.
// CHECK-LABEL: func.func @torus(
// CHECK-NEXT: %0 = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT: %1 = stablehlo.slice %x [0:6, 4:5] : (tensor<6x5xi32>) -> tensor<6x1xi32>
// CHECK-NEXT: %2 = stablehlo.slice %x [0:6, 0:1] : (tensor<6x5xi32>) -> tensor<6x1xi32>
// CHECK-NEXT: %3 = stablehlo.concatenate %1, %x, %2, dim = 1 : (tensor<6x1xi32>, tensor<6x5xi32>, tensor<6x1xi32>) -> tensor<6x7xi32>
// CHECK-NEXT: %4 = stablehlo.slice %3 [5:6, 0:7] : (tensor<6x7xi32>) -> tensor<1x7xi32>
// CHECK-NEXT: %5 = stablehlo.slice %3 [0:1, 0:7] : (tensor<6x7xi32>) -> tensor<1x7xi32>
// CHECK-NEXT: %6 = stablehlo.concatenate %4, %3, %5, dim = 0 : (tensor<1x7xi32>, tensor<6x7xi32>, tensor<1x7xi32>) -> tensor<8x7xi32>
// CHECK-NEXT: %y = "stablehlo.reduce_window"(%6, %0) <{window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>}> ({
// CHECK-NEXT: ^bb0(%7: tensor<i32>, %8: tensor<i32>):
// CHECK-NEXT: %9 = stablehlo.add %7, %8 : tensor<i32>
// CHECK-NEXT: stablehlo.return %9 : tensor<i32>
// CHECK-NEXT: }) : (tensor<8x7xi32>, tensor<i32>) -> tensor<6x5xi32>
// CHECK-NEXT: func.return %y : tensor<6x5xi32>
func.func @torus(%x: tensor<6x5xi32>) -> tensor<6x5xi32> {
  %c0 = stablehlo.constant dense<5> : tensor<i64>
  %c1 = stablehlo.constant dense<6> : tensor<i64>
  %c2 = stablehlo.constant dense<4> : tensor<i64>
  %y = dsl.comprehension [6, 5] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = dsl.reduce sum [3, 3] {
    ^bb0(%r: tensor<i64>, %s: tensor<i64>):
      %v2 = stablehlo.add %i, %r : tensor<i64>
      %v3 = stablehlo.add %v2, %c0 : tensor<i64>
      %v4 = stablehlo.remainder %v3, %c1 : tensor<i64>
      %v5 = stablehlo.add %j, %s : tensor<i64>
      %v6 = stablehlo.add %v5, %c2 : tensor<i64>
      %v7 = stablehlo.remainder %v6, %c0 : tensor<i64>
      %v8 = dsl.access %x[%v4, %v7] : tensor<6x5xi32>
      dsl.yield %v8 : tensor<i32>
    } : tensor<i32>
    dsl.yield %v1 : tensor<i32>
  } : tensor<6x5xi32>
  func.return %y : tensor<6x5xi32>
}

// A product of what one window reads is computed once for each place.
// CHECK-LABEL: func.func @energy(
// CHECK-NEXT: %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %v6 = stablehlo.multiply %x, %x : tensor<9xf32>
// CHECK-NEXT: %y = "stablehlo.reduce_window"(%v6, %0) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({
// CHECK-NEXT: ^bb0(%1: tensor<f32>, %2: tensor<f32>):
// CHECK-NEXT: %3 = stablehlo.add %1, %2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %3 : tensor<f32>
// CHECK-NEXT: }) : (tensor<9xf32>, tensor<f32>) -> tensor<7xf32>
// CHECK-NEXT: func.return %y : tensor<7xf32>
func.func @energy(%x: tensor<9xf32>) -> tensor<7xf32> {
  %y = dsl.comprehension [7] {
  ^bb0(%p: tensor<i64>):
    %v1 = dsl.reduce sum [3] {
    ^bb0(%r: tensor<i64>):
      %v2 = stablehlo.add %p, %r : tensor<i64>
      %v3 = dsl.access %x[%v2] : tensor<9xf32>
      %v4 = stablehlo.add %p, %r : tensor<i64>
      %v5 = dsl.access %x[%v4] : tensor<9xf32>
      %v6 = stablehlo.multiply %v3, %v5 : tensor<f32>
      dsl.yield %v6 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<7xf32>
  func.return %y : tensor<7xf32>
}

// Other indices are reduced after the window.
// CHECK-LABEL: func.func @sum_of_squares(
// CHECK-NEXT: %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %v4 = stablehlo.abs %x : tensor<2x3x8xf32>
// CHECK-NEXT: %1 = "stablehlo.reduce_window"(%v4, %0) <{window_dimensions = array<i64: 1, 1, 3>, window_strides = array<i64: 1, 1, 1>, window_dilations = array<i64: 1, 1, 1>, padding = dense<0> : tensor<3x2xi64>}> ({
// CHECK-NEXT: ^bb0(%2: tensor<f32>, %3: tensor<f32>):
// CHECK-NEXT: %4 = stablehlo.add %2, %3 : tensor<f32>
// CHECK-NEXT: stablehlo.return %4 : tensor<f32>
// CHECK-NEXT: }) : (tensor<2x3x8xf32>, tensor<f32>) -> tensor<2x3x6xf32>
// CHECK-NEXT: %y = stablehlo.reduce(%1 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<2x3x6xf32>, tensor<f32>) -> tensor<2x6xf32>
// CHECK-NEXT: func.return %y : tensor<2x6xf32>
func.func @sum_of_squares(%x: tensor<2x3x8xf32>) -> tensor<2x6xf32> {
  %y = dsl.comprehension [2, 6] {
  ^bb0(%n: tensor<i64>, %p: tensor<i64>):
    %v1 = dsl.reduce sum [3, 3] {
    ^bb0(%c: tensor<i64>, %r: tensor<i64>):
      %v2 = stablehlo.add %p, %r : tensor<i64>
      %v3 = dsl.access %x[%n, %c, %v2] : tensor<2x3x8xf32>
      %v4 = stablehlo.abs %v3 : tensor<f32>
      dsl.yield %v4 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x6xf32>
  func.return %y : tensor<2x6xf32>
}
