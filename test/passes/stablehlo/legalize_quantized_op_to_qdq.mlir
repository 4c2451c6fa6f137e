// RUN: lamina-opt %s -p stablehlo-legalize-quantized-op-to-qdq | filecheck %s

!q = !quant.uniform<i8:f32, 0.5:3>
!w = !quant.uniform<i8:f32:1, {1.0,0.5}>

// What computes does so between conversions; what moves numbers stays.
// CHECK-LABEL: func.func @computed(
func.func @computed(%a: tensor<4x!q>, %b: tensor<4x!q>) -> tensor<4x!quant.uniform<i8:f32, 0.25>> {
  // CHECK-NEXT: %0 = stablehlo.reverse %a, dims = [0] : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  // CHECK-NEXT: %1 = stablehlo.uniform_dequantize %0 : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4xf32>
  // CHECK-NEXT: %2 = stablehlo.uniform_dequantize %b
  // CHECK-NEXT: %3 = stablehlo.multiply %1, %2 : tensor<4xf32>
  // CHECK-NEXT: %c = stablehlo.uniform_quantize %3 : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 2.500000e-01>>
  %0 = stablehlo.reverse %a, dims = [0] : tensor<4x!q>
  %c = stablehlo.multiply %0, %b : (tensor<4x!q>, tensor<4x!q>) -> tensor<4x!quant.uniform<i8:f32, 0.25>>
  func.return %c : tensor<4x!quant.uniform<i8:f32, 0.25>>
}

// Of weights alone only these are converted.
// CHECK-LABEL: func.func @hybrid(
func.func @hybrid(%x: tensor<3x4xf32>, %w: tensor<4x2x!w>) -> tensor<3x2xf32> {
  // CHECK-NEXT: %0 = stablehlo.uniform_dequantize %w
  // CHECK-NEXT: %y = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  // CHECK-NEXT: func.return %y
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x2x!w>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}
