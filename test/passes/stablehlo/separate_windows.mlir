// RUN: lamina-opt %s -p stablehlo-separate-windows | filecheck %s

// Columns first, with the padding above and below, then rows of what they came to.
// CHECK-LABEL: @large
// CHECK:       %0 = "stablehlo.reduce_window"(%x, %low)
// CHECK-SAME:  window_dimensions = array<i64: 1, 5, 1, 1>, window_strides = array<i64: 1, 1, 1, 1>
// CHECK-SAME:  padding = dense<[[0, 0], [2, 1], [0, 0], [0, 0]]>
// CHECK:       : (tensor<1x20x20x8xf32>, tensor<f32>) -> tensor<1x19x20x8xf32>
// CHECK:       %1 = "stablehlo.reduce_window"(%0, %low)
// CHECK-SAME:  window_dimensions = array<i64: 1, 1, 5, 1>
// CHECK-SAME:  padding = dense<[[0, 0], [0, 0], [2, 2], [0, 0]]>
// CHECK:       func.return %1
func.func @large(%x: tensor<1x20x20x8xf32>) -> tensor<1x19x20x8xf32> {
  %low = stablehlo.constant dense<0xff800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 5, 5, 1>, padding = dense<[[0, 0], [2, 1], [2, 2], [0, 0]]> : tensor<4x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x20x20x8xf32>, tensor<f32>) -> tensor<1x19x20x8xf32>
  return %0 : tensor<1x19x20x8xf32>
}

// Three dimensions, one after the other; steps and dilations stay with theirs.
// CHECK-LABEL: @volume
// CHECK:       window_dimensions = array<i64: 4, 1, 1>, window_strides = array<i64: 1, 1, 1>{{.*}}window_dilations = array<i64: 2, 1, 1>
// CHECK:       window_dimensions = array<i64: 1, 6, 1>, window_strides = array<i64: 1, 2, 1>
// CHECK:       window_dimensions = array<i64: 1, 1, 6>, window_strides = array<i64: 1, 1, 5>
func.func @volume(%x: tensor<9x20x20xi32>) -> tensor<3x8x3xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 4, 6, 6>, window_strides = array<i64: 1, 2, 5>, window_dilations = array<i64: 2, 1, 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<9x20x20xi32>, tensor<i32>) -> tensor<3x8x3xi32>
  return %0 : tensor<3x8x3xi32>
}

// Small windows with steps: most of the columns would be reduced for few results.
// CHECK-LABEL: @small
// CHECK:       window_dimensions = array<i64: 1, 3, 3, 1>
// CHECK-NOT:   reduce_window
func.func @small(%x: tensor<1x21x21x8xf32>) -> tensor<1x10x10x8xf32> {
  %low = stablehlo.constant dense<0xff800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x21x21x8xf32>, tensor<f32>) -> tensor<1x10x10x8xf32>
  return %0 : tensor<1x10x10x8xf32>
}

// A first value that counts would count more than once; sums of halves would be rounded in between.
// CHECK-LABEL: @whole
// CHECK:       window_dimensions = array<i64: 5, 5>
// CHECK:       window_dimensions = array<i64: 5, 5>
// CHECK-NOT:   reduce_window
func.func @whole(%x: tensor<9x9xf32>, %y: tensor<9x9xf16>) -> (tensor<5x5xf32>, tensor<5x5xf16>) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f16>
  %0 = "stablehlo.reduce_window"(%x, %one) <{window_dimensions = array<i64: 5, 5>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<9x9xf32>, tensor<f32>) -> tensor<5x5xf32>
  %1 = "stablehlo.reduce_window"(%y, %zero) <{window_dimensions = array<i64: 5, 5>}> ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %m = stablehlo.add %a, %b : tensor<f16>
    stablehlo.return %m : tensor<f16>
  }) : (tensor<9x9xf16>, tensor<f16>) -> tensor<5x5xf16>
  return %0, %1 : tensor<5x5xf32>, tensor<5x5xf16>
}

// Windows of rows of planes are one kernel, which goes by columns and rows itself; but not with many kinds of rows.
// CHECK-LABEL: @planes
// CHECK:       window_dimensions = array<i64: 1, 5, 5>
// CHECK:       window_dimensions = array<i64: 1, 15, 1>
// CHECK:       window_dimensions = array<i64: 1, 1, 15>
// CHECK-NOT:   reduce_window
func.func @planes(%x: tensor<8x20x20xf32>) -> (tensor<8x20x20xf32>, tensor<8x20x20xf32>) {
  %low = stablehlo.constant dense<0xff800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 5, 5>, padding = dense<[[0, 0], [2, 2], [2, 2]]> : tensor<3x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<8x20x20xf32>, tensor<f32>) -> tensor<8x20x20xf32>
  %1 = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 15, 15>, padding = dense<[[0, 0], [7, 7], [7, 7]]> : tensor<3x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<8x20x20xf32>, tensor<f32>) -> tensor<8x20x20xf32>
  return %0, %1 : tensor<8x20x20xf32>, tensor<8x20x20xf32>
}
