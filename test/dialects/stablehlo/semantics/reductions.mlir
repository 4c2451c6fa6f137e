// RUN: lamina run %s --target interpret

func.func public @main() {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>

  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %sum, dense<[6.0, 15.0]> : tensor<2xf32>

  // Of nothing, the initial value.
  %empty = stablehlo.slice %x [0:2, 3:3] : (tensor<2x3xf32>) -> tensor<2x0xf32>
  %none = stablehlo.reduce(%empty init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %none, dense<0xFF800000> : tensor<2xf32>

  // The place of the largest element: two inputs, a body of several ops.
  %index = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %max:2 = stablehlo.reduce(%x init: %lowest), (%index init: %first) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %ge = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %value = stablehlo.select %ge, %a, %b : tensor<i1>, tensor<f32>
    %place = stablehlo.select %ge, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %value, %place : tensor<f32>, tensor<i32>
  }
  check.expect_eq_const %max#1, dense<[2, 2]> : tensor<2xi32>

  // Windows: stride 2, one of padding on both sides, dilated by 2.
  %line = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %windows = "stablehlo.reduce_window"(%line, %first) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, window_dilations = array<i64: 2>, padding = dense<1> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %r = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) : (tensor<5xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %windows, dense<[2, 6, 4]> : tensor<3xi32>

  // The specification's example of select_and_scatter.
  %operand = stablehlo.constant dense<[[1, 5], [2, 5], [3, 6], [4, 4]]> : tensor<4x2xi64>
  %source = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi64>
  %init = stablehlo.constant dense<0> : tensor<i64>
  %scattered = "stablehlo.select_and_scatter"(%operand, %source, %init) <{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>, padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %r = stablehlo.compare GE, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }, {
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %r = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %r : tensor<i64>
  }) : (tensor<4x2xi64>, tensor<2x2xi64>, tensor<i64>) -> tensor<4x2xi64>
  check.expect_eq_const %scattered, dense<[[0, 0], [0, 0], [5, 14], [7, 0]]> : tensor<4x2xi64>

  // Sorting by the first input, descending, stable: equal keys keep their order.
  %keys = stablehlo.constant dense<[1, 3, 1, 2]> : tensor<4xi32>
  %tags = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
  %sorted:2 = "stablehlo.sort"(%keys, %tags) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %r = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  check.expect_eq_const %sorted#0, dense<[3, 2, 1, 1]> : tensor<4xi32>
  check.expect_eq_const %sorted#1, dense<[1, 3, 0, 2]> : tensor<4xi32>

  // By two keys: a comparator of several ops.
  %both:2 = "stablehlo.sort"(%keys, %tags) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    %lt = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %eq = stablehlo.compare EQ, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %gt = stablehlo.compare GT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %and = stablehlo.and %eq, %gt : tensor<i1>
    %r = stablehlo.or %lt, %and : tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  check.expect_eq_const %both#1, dense<[2, 0, 3, 1]> : tensor<4xi32>
  return
}
