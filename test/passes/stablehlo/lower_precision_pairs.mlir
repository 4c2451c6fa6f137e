// RUN: lamina-opt %s -p 'stablehlo-lower-precision{to=bf16}' --machine sm_80 | filecheck %s
// A machine that multiplies pairs of bfloat16 takes both operands in it, and the sums in f32.

// What was bfloat16 and is widened is taken as it was.
// CHECK-LABEL: func.func @widened
func.func @widened(%x: tensor<1x2xbf16>, %w: tensor<2x2xf32>) -> tensor<1x2xf32> {
  // CHECK: %[[W:.*]] = stablehlo.convert %w {flushes} : (tensor<2x2xf32>) -> tensor<2x2xbf16>
  // CHECK-NEXT: stablehlo.dot_general %x, %[[W]], contracting_dims = [1] x [0] : (tensor<1x2xbf16>, tensor<2x2xbf16>) -> tensor<1x2xf32>
  %wide = stablehlo.convert %x : (tensor<1x2xbf16>) -> tensor<1x2xf32>
  %y = stablehlo.dot_general %wide, %w, contracting_dims = [1] x [0] : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// CHECK-LABEL: func.func @both
func.func @both(%x: tensor<1x2xf32>, %w: tensor<2x2xf32>) -> tensor<1x2xf32> {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.convert %x {flushes} : (tensor<1x2xf32>) -> tensor<1x2xbf16>
  // CHECK-NEXT: %[[B:.*]] = stablehlo.convert %w {flushes} : (tensor<2x2xf32>) -> tensor<2x2xbf16>
  // CHECK-NEXT: stablehlo.dot_general %[[A]], %[[B]], contracting_dims = [1] x [0] : (tensor<1x2xbf16>, tensor<2x2xbf16>) -> tensor<1x2xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// CHECK-LABEL: func.func @any_depth
func.func @any_depth(%x: tensor<32x197xbf16>, %w: tensor<197x2xf32>) -> tensor<32x2xf32> {
  // CHECK: stablehlo.dot_general %x, %{{.*}} : (tensor<32x197xbf16>, tensor<197x2xbf16>) -> tensor<32x2xf32>
  %wide = stablehlo.convert %x : (tensor<32x197xbf16>) -> tensor<32x197xf32>
  %y = stablehlo.dot_general %wide, %w, contracting_dims = [1] x [0] : (tensor<32x197xf32>, tensor<197x2xf32>) -> tensor<32x2xf32>
  func.return %y : tensor<32x2xf32>
}
