// Ops whose shapes are values; and ops that the specification has left behind.
// RUN: lamina run %s --target interpret

func.func public @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %shape = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  %a = stablehlo.dynamic_reshape %x, %shape : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  check.expect_eq_const %a, dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>

  %one = stablehlo.constant dense<[[7.0, 8.0]]> : tensor<1x2xf32>
  %b = stablehlo.dynamic_broadcast_in_dim %one, %shape, dims = [0, 1] : (tensor<1x2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  check.expect_eq_const %b, dense<[[7.0, 8.0], [7.0, 8.0], [7.0, 8.0]]> : tensor<3x2xf32>

  %c = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi64>) -> tensor<3x2xi32>
  check.expect_eq_const %c, dense<[[0, 0], [1, 1], [2, 2]]> : tensor<3x2xi32>

  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
  %high = stablehlo.constant dense<[0, -1]> : tensor<2xi64>
  %none = stablehlo.constant dense<0> : tensor<2xi64>
  %d = stablehlo.dynamic_pad %x, %zero, %low, %high, %none : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x2xf32>
  check.expect_eq_const %d, dense<[[0.0, 0.0], [1.0, 2.0], [4.0, 5.0]]> : tensor<3x2xf32>

  %limit = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %step = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %e = stablehlo.real_dynamic_slice %x, %low, %limit, %step : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2xf32>
  check.expect_eq_const %e, dense<[[4.0, 6.0]]> : tensor<1x2xf32>

  %two = stablehlo.constant dense<2> : tensor<i32>
  %f = stablehlo.set_dimension_size %x, %two, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x?xf32, #stablehlo.bounds<?, 3>>
  %n = stablehlo.get_dimension_size %f, dim = 1 : (tensor<2x?xf32, #stablehlo.bounds<?, 3>>) -> tensor<i32>
  check.expect_eq_const %n, dense<2> : tensor<i32>

  %i = stablehlo.constant dense<[[1], [0]]> : tensor<2x1xi32>
  %sizes = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %g = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<2x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x2xf32>
  check.expect_eq_const %g, dense<[[4.0, 5.0], [1.0, 2.0]]> : tensor<2x2xf32>

  %signal = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
  %taps = stablehlo.constant dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %pad = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi64>
  %h = "stablehlo.dynamic_conv"(%signal, %taps, %pad) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<1x3x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi64>) -> tensor<1x3x1xf32>
  check.expect_eq_const %h, dense<[[[10.0], [21.0], [32.0]]]> : tensor<1x3x1xf32>

  %v = stablehlo.constant dense<[1.0, 0.0, 2.0]> : tensor<3xf32>
  %j = stablehlo.dot %x, %v : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  check.expect_eq_const %j, dense<[7.0, 16.0]> : tensor<2xf32>
  %k = stablehlo.einsum %x, %v, config = "ij,j->ji" : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3x2xf32>
  check.expect_eq_const %k, dense<[[1.0, 4.0], [0.0, 0.0], [6.0, 12.0]]> : tensor<3x2xf32>
  %l = stablehlo.unary_einsum %x, config = "ij->j" : (tensor<2x3xf32>) -> tensor<3xf32>
  check.expect_eq_const %l, dense<[5.0, 7.0, 9.0]> : tensor<3xf32>
  %m = stablehlo.broadcast %two, sizes = [2] : (tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %m, dense<[2, 2]> : tensor<2xi32>
  %places = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %o = "stablehlo.torch_index_select"(%x, %places) <{batch_dims = 0 : i64, dim = 1 : i64}> : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  check.expect_eq_const %o, dense<[[3.0, 1.0], [6.0, 4.0]]> : tensor<2x2xf32>
  func.return
}
