// RUN: lamina-opt %s -p stablehlo-legalize-quant-to-math | filecheck %s

// To integers: scaled, moved, kept within the limits, rounded.
// CHECK-LABEL: func.func @quantize(%x: tensor<4xf32>) -> tensor<4xi8>
func.func @quantize(%x: tensor<4xf32>) -> tensor<4x!quant.uniform<i8<-127:127>:f32, 0.5:3>> {
  // CHECK: %[[S:.*]] = stablehlo.divide %x, %{{.*}} : tensor<4xf32>
  // CHECK: %[[M:.*]] = stablehlo.add %[[S]], %{{.*}} : tensor<4xf32>
  // CHECK: stablehlo.constant dense<-1.270000e+02>
  // CHECK: %[[C:.*]] = stablehlo.clamp %{{.*}}, %[[M]], %{{.*}} : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[R:.*]] = stablehlo.round_nearest_even %[[C]] : tensor<4xf32>
  // CHECK-NEXT: %q = stablehlo.convert %[[R]] : (tensor<4xf32>) -> tensor<4xi8>
  // CHECK-NEXT: func.return %q
  %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8<-127:127>:f32, 0.5:3>>
  func.return %q : tensor<4x!quant.uniform<i8<-127:127>:f32, 0.5:3>>
}

// To floats: a difference that halves do not hold is one of integers; the product is not part of a fused sum.
// CHECK-LABEL: func.func @dequantize(%q: tensor<2x3xui8>) -> tensor<2x3xf16>
func.func @dequantize(%q: tensor<2x3x!quant.uniform<u8:f16:1, {0.5:3,1.0:4,2.0}>>) -> tensor<2x3xf16> {
  // CHECK: %[[I:.*]] = stablehlo.convert %q : (tensor<2x3xui8>) -> tensor<2x3xi32>
  // CHECK: stablehlo.constant dense<[3, 4, 0]> : tensor<3xi32>
  // CHECK: %[[D:.*]] = stablehlo.subtract %[[I]]
  // CHECK-NEXT: %[[F:.*]] = stablehlo.convert %[[D]] : (tensor<2x3xi32>) -> tensor<2x3xf16>
  // CHECK: %[[B:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<3xf16>) -> tensor<2x3xf16>
  // CHECK-NEXT: %x = stablehlo.multiply %[[F]], %[[B]] {strict} : tensor<2x3xf16>
  %x = stablehlo.uniform_dequantize %q : (tensor<2x3x!quant.uniform<u8:f16:1, {0.5:3,1.0:4,2.0}>>) -> tensor<2x3xf16>
  func.return %x : tensor<2x3xf16>
}

// Limits that the float type does not hold are those of the integers.
// CHECK-LABEL: func.func @inexact_limits
func.func @inexact_limits(%x: tensor<4xbf16>) -> tensor<4x!quant.uniform<i16<-32767:32767>:bf16, 0.5>> {
  // CHECK: stablehlo.convert %{{.*}} : (tensor<4xbf16>) -> tensor<4xi16>
  // CHECK: %q = stablehlo.clamp %{{.*}} : (tensor<i16>, tensor<4xi16>, tensor<i16>) -> tensor<4xi16>
  %q = stablehlo.uniform_quantize %x : (tensor<4xbf16>) -> tensor<4x!quant.uniform<i16<-32767:32767>:bf16, 0.5>>
  func.return %q : tensor<4x!quant.uniform<i16<-32767:32767>:bf16, 0.5>>
}

// Movement moves integers, through calls and loops.
// CHECK-LABEL: func.func @moved(%q: tensor<2x3xi4>) -> tensor<3x2xi4>
func.func @moved(%q: tensor<2x3x!quant.uniform<i4:f32:1, {0.5,1.0,2.0}>>) -> tensor<3x2x!quant.uniform<i4:f32:0, {0.5,1.0,2.0}>> {
  // CHECK-NEXT: %0 = stablehlo.transpose %q, dims = [1, 0] : (tensor<2x3xi4>) -> tensor<3x2xi4>
  // CHECK-NEXT: %1 = func.call @same(%0) : (tensor<3x2xi4>) -> tensor<3x2xi4>
  %0 = stablehlo.transpose %q, dims = [1, 0] : (tensor<2x3x!quant.uniform<i4:f32:1, {0.5,1.0,2.0}>>) -> tensor<3x2x!quant.uniform<i4:f32:0, {0.5,1.0,2.0}>>
  %1 = func.call @same(%0) : (tensor<3x2x!quant.uniform<i4:f32:0, {0.5,1.0,2.0}>>) -> tensor<3x2x!quant.uniform<i4:f32:0, {0.5,1.0,2.0}>>
  func.return %1 : tensor<3x2x!quant.uniform<i4:f32:0, {0.5,1.0,2.0}>>
}

// CHECK-LABEL: func.func private @same(%q: tensor<3x2xi4>) -> tensor<3x2xi4>
func.func private @same(%q: tensor<3x2x!quant.uniform<i4:f32:0, {0.5,1.0,2.0}>>) -> tensor<3x2x!quant.uniform<i4:f32:0, {0.5,1.0,2.0}>> {
  func.return %q : tensor<3x2x!quant.uniform<i4:f32:0, {0.5,1.0,2.0}>>
}

// The bits are the integer's; constants hold these already.
// CHECK-LABEL: func.func @bits() -> tensor<2xi8>
func.func @bits() -> tensor<2xi8> {
  // CHECK-NEXT: %q = stablehlo.constant dense<[1, 2]> : tensor<2xi8>
  // CHECK-NEXT: func.return %q : tensor<2xi8>
  %q = stablehlo.constant() <{value = dense<[1, 2]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  %b = stablehlo.bitcast_convert %q : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xi8>
  func.return %b : tensor<2xi8>
}
