// Products of quantised numbers, per tensor and per axis, of both sides or of the weights alone.
// RUN: lamina-opt %s -p stablehlo-legalize-quant-to-math | filecheck %s
// CHECK-NOT: quant

func.func @main(%a: tensor<2x4x3x!quant.uniform<i8:f32, 0.5:3>>, %w: tensor<3x5x!quant.uniform<i8:f32:1, {1.0,0.5,0.25,2.0,4.0}>>,
    %x: tensor<2x4x3xf32>, %i: tensor<1x6x5x2x!quant.uniform<u8:f32, 0.25:100>>, %j: tensor<1x6x5x2xbf16>,
    %k: tensor<3x3x2x4x!quant.uniform<u8<1:255>:f32:3, {0.5:7,1.0:9,0.25:128,2.0:200}>>,
    %l: tensor<3x3x2x4x!quant.uniform<i4:bf16, 0.5:-3>>,
    %m: tensor<2x5x!quant.uniform<i8:f32:1, {0.1,0.2,0.3:4,0.4,0.7}>>) -> (tensor<2x4x5x!quant.uniform<i8:f32, 4.0:-5>>, tensor<2x4x5xf32>,
    tensor<1x3x3x4x!quant.uniform<u8:f32, 16.0:100>>, tensor<1x4x3x4xbf16>,
    tensor<2x5x!quant.uniform<i8:f32:1, {0.2,0.1:3,0.6,0.4,1.0:-9}>>, tensor<5x2x!quant.uniform<i8:f32:0, {0.1,0.2,0.3:4,0.4,0.7}>>) {
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [2] x [0] : (tensor<2x4x3x!quant.uniform<i8:f32, 0.5:3>>,
    tensor<3x5x!quant.uniform<i8:f32:1, {1.0,0.5,0.25,2.0,4.0}>>) -> tensor<2x4x5x!quant.uniform<i32:f32:2, {0.5,0.25,0.125,1.0,2.0}>>
  %1 = stablehlo.uniform_quantize %0 : (tensor<2x4x5x!quant.uniform<i32:f32:2, {0.5,0.25,0.125,1.0,2.0}>>) ->
    tensor<2x4x5x!quant.uniform<i8:f32, 4.0:-5>>
  %2 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] :
    (tensor<2x4x3xf32>, tensor<3x5x!quant.uniform<i8:f32:1, {1.0,0.5,0.25,2.0,4.0}>>) -> tensor<2x4x5xf32>
  %3 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [2, 1], pad = [[1, 1], [0, 2]], rhs_dilate = [1, 2]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x5x2x!quant.uniform<u8:f32, 0.25:100>>,
    tensor<3x3x2x4x!quant.uniform<u8<1:255>:f32:3, {0.5:7,1.0:9,0.25:128,2.0:200}>>) -> tensor<1x3x3x4x!quant.uniform<u8:f32, 16.0:100>>
  %4 = stablehlo.convolution(%j, %l) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} :
    (tensor<1x6x5x2xbf16>, tensor<3x3x2x4x!quant.uniform<i4:bf16, 0.5:-3>>) -> tensor<1x4x3x4xbf16>
  %5 = stablehlo.add %m, %m : (tensor<2x5x!quant.uniform<i8:f32:1, {0.1,0.2,0.3:4,0.4,0.7}>>,
    tensor<2x5x!quant.uniform<i8:f32:1, {0.1,0.2,0.3:4,0.4,0.7}>>) -> tensor<2x5x!quant.uniform<i8:f32:1, {0.2,0.1:3,0.6,0.4,1.0:-9}>>
  %6 = stablehlo.transpose %m, dims = [1, 0] : (tensor<2x5x!quant.uniform<i8:f32:1, {0.1,0.2,0.3:4,0.4,0.7}>>) ->
    tensor<5x2x!quant.uniform<i8:f32:0, {0.1,0.2,0.3:4,0.4,0.7}>>
  func.return %1, %2, %3, %4, %5, %6 : tensor<2x4x5x!quant.uniform<i8:f32, 4.0:-5>>, tensor<2x4x5xf32>,
    tensor<1x3x3x4x!quant.uniform<u8:f32, 16.0:100>>, tensor<1x4x3x4xbf16>,
    tensor<2x5x!quant.uniform<i8:f32:1, {0.2,0.1:3,0.6,0.4,1.0:-9}>>, tensor<5x2x!quant.uniform<i8:f32:0, {0.1,0.2,0.3:4,0.4,0.7}>>
}
