// Quantised element types and the ops that make and end them print as they are written.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @quantized(
func.func @quantized(%x: tensor<2xf32>, %u: tensor<2x!quant.uniform<u8:f32, 5.000000e-01>>) {
  // CHECK-NEXT: %q = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>
  %q = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>
  // CHECK-NEXT: %again = stablehlo.uniform_quantize %q : (tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>) -> tensor<2x!quant.uniform<i8<-127:127>:f32:0, {1.000000e+00,5.000000e-01:-3}>>
  %again = stablehlo.uniform_quantize %q : (tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>) -> tensor<2x!quant.uniform<i8<-127:127>:f32:0, {1.000000e+00,5.000000e-01:-3}>>
  // CHECK-NEXT: %sum = stablehlo.add %q, %q : tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>
  %sum = stablehlo.add %q, %q : tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>
  // CHECK-NEXT: %y = stablehlo.uniform_dequantize %q : (tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>) -> tensor<2xf32>
  %y = stablehlo.uniform_dequantize %q : (tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>) -> tensor<2xf32>
  func.return
}

// Scales as MLIR prints them; limits that are those of the type are not said.
// CHECK-LABEL: func.func @scales(
// CHECK-SAME: !quant.uniform<i8:f32, 1.5350925350904778E-5:-3>
// CHECK-SAME: !quant.uniform<i4:f32:0, {3.918810451731962E-4,0.0039188104517319626:-3,123456.7890123456,1.2345678901234501E+22}>
func.func @scales(%a: tensor<2x!quant.uniform<i8<-128:127>:f32, 1.5350925350904778e-5:-3>>,
    %b: tensor<4x!quant.uniform<i4:f32:0, {0.0003918810451731962, 0.0039188104517319626:-3, 123456.7890123456, 1.23456789012345e22}>>) {
  func.return
}
