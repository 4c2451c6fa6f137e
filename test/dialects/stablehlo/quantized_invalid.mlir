// What the specification asks of quantised types and of ops on them, by the message that a person sees.
// RUN: lamina-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{zero point 300 must be in the storage range -128:127 (C7)}}
func.func @zero_point(%a: tensor<2x!quant.uniform<i8:f32, 1.0:300>>) { func.return }

// -----

// expected-error@+1 {{scale 0.0 must be positive and finite (C5, C6)}}
func.func @no_scale(%a: tensor<2x!quant.uniform<i8:f32, 0.0>>) { func.return }

// -----

// expected-error@+1 {{scale 100000.0 is out of the range of f16 (C4)}}
func.func @large_scale(%a: tensor<2x!quant.uniform<i8:f16, 1.0e5>>) { func.return }

// -----

// expected-error@+1 {{storage range 5:5 must be in -128:127 and not empty (C3)}}
func.func @no_range(%a: tensor<2x!quant.uniform<i8<5:5>:f32, 1.0>>) { func.return }

// -----

// expected-error@+1 {{a storage type with a sign is written i8 (C1)}}
func.func @sign(%a: tensor<2x!quant.uniform<si8:f32, 1.0>>) { func.return }

// -----

// expected-error@+1 {{expressed type must be a float type, got i32 (C4)}}
func.func @expressed(%a: tensor<2x!quant.uniform<i8:i32, 1.0>>) { func.return }

// -----

func.func @scales(%a: tensor<3x!quant.uniform<i8:f32:0, {1.0,2.0}>>) {
  // expected-error@+1 {{must have 3 scales, one per index of dimension 0 (C13)}}
  %0 = stablehlo.uniform_dequantize %a : (tensor<3x!quant.uniform<i8:f32:0, {1.0,2.0}>>) -> tensor<3xf32>
  func.return
}

// -----

func.func @dimension(%a: tensor<2x!quant.uniform<i8:f32:1, {1.0,2.0}>>) {
  // expected-error@+1 {{quantization dimension 1 must be a dimension of tensor<2x}}
  %0 = stablehlo.uniform_dequantize %a : (tensor<2x!quant.uniform<i8:f32:1, {1.0,2.0}>>) -> tensor<2xf32>
  func.return
}

// -----

func.func @one_scale(%a: tensor<2x!quant.uniform<i8:f32:0, {1.0,2.0}>>) {
  // expected-error@+1 {{takes tensors with one scale, got tensor<2x!quant.uniform<i8:f32:0, {1.000000e+00,2.000000e+00}>> (I1)}}
  %0 = stablehlo.abs %a : tensor<2x!quant.uniform<i8:f32:0, {1.0,2.0}>>
  func.return
}

// -----

func.func @none(%a: tensor<2x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@+1 {{takes no quantized tensors, got tensor<2x!quant.uniform<i8:f32, 1.000000e+00>> (I1)}}
  %0 = stablehlo.popcnt %a : tensor<2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @storage(%a: tensor<2x!quant.uniform<i8:f32, 1.0>>, %b: tensor<2x!quant.uniform<i16:f32, 1.0>>) {
  // expected-error@+1 {{operands and results may differ in scales and zero points only}}
  %0 = stablehlo.multiply %a, %b : (tensor<2x!quant.uniform<i8:f32, 1.0>>, tensor<2x!quant.uniform<i16:f32, 1.0>>) -> tensor<2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @half_quantized(%a: tensor<2x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@+1 {{operands and results must all be quantized, got tensor<2xf32> (C1)}}
  %0 = stablehlo.abs %a : (tensor<2x!quant.uniform<i8:f32, 1.0>>) -> tensor<2xf32>
  func.return
}

// -----

func.func @shapes(%a: tensor<2x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@+1 {{result #0 must have type tensor<2xf32>, got tensor<3xf32>}}
  %0 = stablehlo.abs %a : (tensor<2x!quant.uniform<i8:f32, 1.0>>) -> tensor<3x!quant.uniform<i8:f32, 2.0>>
  func.return
}

// -----

func.func @added_axis(%a: tensor<2x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@+1 {{the result must have scales per index where an operand has (C5)}}
  %0 = stablehlo.add %a, %a : (tensor<2x!quant.uniform<i8:f32, 1.0>>, tensor<2x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x!quant.uniform<i8:f32:0, {1.0,1.0}>>
  func.return
}

// -----

func.func @moved(%a: tensor<2x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@+1 {{operands and results must have the same quantized element type}}
  %0 = "stablehlo.reverse"(%a) <{dimensions = array<i64: 0>}> : (tensor<2x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x!quant.uniform<i8:f32, 2.0>>
  func.return
}

// -----

func.func @transposed(%a: tensor<2x2x!quant.uniform<i8:f32:0, {1.0,2.0}>>) {
  // expected-error@+1 {{quantization dimension 0 of operand is not 0 of the result by permutation (C4)}}
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x2x!quant.uniform<i8:f32:0, {1.0,2.0}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {1.0,2.0}>>
  func.return
}

// -----

func.func @reshaped(%a: tensor<2x3x!quant.uniform<i8:f32:0, {1.0,2.0}>>) {
  // expected-error@+1 {{quantization dimension 0 of operand is not 1 of the result (C3)}}
  %0 = stablehlo.reshape %a : (tensor<2x3x!quant.uniform<i8:f32:0, {1.0,2.0}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {1.0,2.0}>>
  func.return
}

// -----

func.func @broadcast(%a: tensor<1x!quant.uniform<i8:f32:0, {1.0}>>) {
  // expected-error@+1 {{scales and zero points of the result must all be the operand's (C6)}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<1x!quant.uniform<i8:f32:0, {1.0}>>) -> tensor<2x!quant.uniform<i8:f32:0, {1.0,2.0}>>
  func.return
}

// -----

func.func @weights(%a: tensor<2x2x!quant.uniform<i8:f32, 1.0>>, %b: tensor<2x2x!quant.uniform<i8:f32, 1.0:3>>) {
  // expected-error@+1 {{the zero points of rhs must be 0}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 1.0>>, tensor<2x2x!quant.uniform<i8:f32, 1.0:3>>) -> tensor<2x2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @contracted(%a: tensor<2x2x!quant.uniform<i8:f32, 1.0>>, %b: tensor<2x2x!quant.uniform<i8:f32:0, {1.0,2.0}>>) {
  // expected-error@+1 {{quantization dimension 0 of rhs must not be contracted (C16)}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 1.0>>, tensor<2x2x!quant.uniform<i8:f32:0, {1.0,2.0}>>) -> tensor<2x2x!quant.uniform<i8:f32, 1.0>>
  func.return
}

// -----

func.func @hybrid(%a: tensor<2x2xf16>, %b: tensor<2x2x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@+1 {{lhs and result must have elements of f32, which rhs expresses (C20)}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xf16>, tensor<2x2x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x2xf16>
  func.return
}
