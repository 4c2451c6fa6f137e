// RUN: lamina run %s --target interpret

!axis = !quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>
!other = !quant.uniform<i8:f32:0, {0.1:-20,0.2:-30}>
!fine = !quant.uniform<i8:f32, 0.1:-30>
!coarse = !quant.uniform<i8:f32, 0.5:-20>
!byte = !quant.uniform<u8<1:200>:f16, 0.25:100>

func.func public @main() {
  // A scale and a zero point for each index, and others.
  %x = stablehlo.constant dense<[4.0, 15.0]> : tensor<2xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!axis>
  %bits = stablehlo.bitcast_convert %q : (tensor<2x!axis>) -> tensor<2xi8>
  check.expect_eq_const %bits, dense<[10, 10]> : tensor<2xi8>
  %back = stablehlo.uniform_dequantize %q : (tensor<2x!axis>) -> tensor<2xf32>
  check.expect_eq_const %back, dense<[4.0, 15.0]> : tensor<2xf32>
  %again = stablehlo.uniform_quantize %q : (tensor<2x!axis>) -> tensor<2x!other>
  %again_bits = stablehlo.bitcast_convert %again : (tensor<2x!other>) -> tensor<2xi8>
  check.expect_eq_const %again_bits, dense<[20, 45]> : tensor<2xi8>

  // An op on the numbers: 1 + 3 and 2 + 4 by halves.
  %ab = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %a = stablehlo.uniform_quantize %ab : (tensor<2x2xf32>) -> tensor<2x2x!fine>
  %b = stablehlo.uniform_quantize %ab : (tensor<2x2xf32>) -> tensor<2x2x!coarse>
  %sum = stablehlo.add %a, %b : (tensor<2x2x!fine>, tensor<2x2x!coarse>) -> tensor<2x2x!coarse>
  %sum_bits = stablehlo.bitcast_convert %sum : (tensor<2x2x!coarse>) -> tensor<2x2xi8>
  check.expect_eq_const %sum_bits, dense<[[-16, -12], [-8, -4]]> : tensor<2x2xi8>
  %less = stablehlo.compare LT, %a, %a, FLOAT : (tensor<2x2x!fine>, tensor<2x2x!fine>) -> tensor<2x2xi1>
  check.expect_eq_const %less, dense<false> : tensor<2x2xi1>

  // Halves to even; out of limits, infinite, and no number at all.
  %edges = stablehlo.constant dense<[0.125, 0.375, -0.125, 1000.0, 0xFC00, 0x7E00]> : tensor<6xf16>
  %limited = stablehlo.uniform_quantize %edges : (tensor<6xf16>) -> tensor<6x!byte>
  %limited_bits = stablehlo.bitcast_convert %limited : (tensor<6x!byte>) -> tensor<6xui8>
  check.expect_eq_const %limited_bits, dense<[100, 102, 100, 200, 1, 1]> : tensor<6xui8>

  // A difference that 8 bits do not hold: 127 + 128.
  %largest = stablehlo.constant() <{value = dense<127> : tensor<1xi8>}> : () -> tensor<1x!quant.uniform<i8:f32, 1.0:-128>>
  %wide = stablehlo.uniform_dequantize %largest : (tensor<1x!quant.uniform<i8:f32, 1.0:-128>>) -> tensor<1xf32>
  check.expect_eq_const %wide, dense<255.0> : tensor<1xf32>

  // The body of a reduction adds numbers, not integers.
  %zero = stablehlo.constant() <{value = dense<-20> : tensor<i8>}> : () -> tensor<!coarse>
  %total = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x2x!coarse>, tensor<!coarse>) -> tensor<2x!coarse>
  %numbers = stablehlo.uniform_dequantize %total : (tensor<2x!coarse>) -> tensor<2xf32>
  check.expect_eq_const %numbers, dense<[4.0, 6.0]> : tensor<2xf32>

  // Weights alone are quantised.
  %w = stablehlo.constant() <{value = dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>}> : () -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5,2.0}>>
  %y = stablehlo.dot_general %ab, %w, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2x!quant.uniform<i8:f32:1, {0.5,2.0}>>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[3.5, 20.0], [7.5, 44.0]]> : tensor<2x2xf32>

  %index = stablehlo.iota dim = 0 : tensor<3x!coarse>
  %index_bits = stablehlo.bitcast_convert %index : (tensor<3x!coarse>) -> tensor<3xi8>
  check.expect_eq_const %index_bits, dense<[-20, -18, -16]> : tensor<3xi8>
  func.return
}
