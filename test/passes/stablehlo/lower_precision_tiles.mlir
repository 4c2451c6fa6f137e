// RUN: lamina-opt %s -p 'stablehlo-lower-precision{to=bf16}' --machine x86-64-amx | filecheck %s
// A machine that has tiles rounds what tiles multiply: vectors take pairs no faster than single numbers there. No part of
// 197 is one, of 13 more 30.

// CHECK-LABEL: func.func @parts
func.func @parts(%x: tensor<32x144xf32>, %w: tensor<144x32xf32>, %u: tensor<32x197xf32>, %v: tensor<197x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  // CHECK: stablehlo.dot_general {{.*}} : (tensor<32x144xbf16>, tensor<144x32xbf16>) -> tensor<32x32xf32>
  // CHECK-NEXT: %[[U:.*]] = stablehlo.convert %u {flushes} : (tensor<32x197xf32>) -> tensor<32x197xbf16>
  // CHECK-NEXT: %[[V:.*]] = stablehlo.convert %v {flushes} : (tensor<197x32xf32>) -> tensor<197x32xbf16>
  // CHECK-NEXT: %[[Z:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
  // CHECK-NEXT: %[[A:.*]] = stablehlo.pad %[[U]], %[[Z]], low = [0, 0], high = [0, 13], interior = [0, 0] : {{.*}} -> tensor<32x210xbf16>
  // CHECK: %[[B:.*]] = stablehlo.pad %[[V]], %{{.*}}, low = [0, 0], high = [13, 0], interior = [0, 0] : {{.*}} -> tensor<210x32xbf16>
  // CHECK-NEXT: stablehlo.dot_general %[[A]], %[[B]], {{.*}} -> tensor<32x32xf32>
  %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x144xf32>, tensor<144x32xf32>) -> tensor<32x32xf32>
  %b = stablehlo.dot_general %u, %v, contracting_dims = [1] x [0] : (tensor<32x197xf32>, tensor<197x32xf32>) -> tensor<32x32xf32>
  func.return %a, %b : tensor<32x32xf32>, tensor<32x32xf32>
}

// A pass over operands takes longer than is won where columns are few; scores that L2 does not hold are left to attention.
// CHECK-LABEL: func.func @left
func.func @left(%u: tensor<32x197xf32>, %v: tensor<197x31xf32>, %s: tensor<16x211x197xf32>, %w: tensor<16x197x64xf32>) -> (tensor<32x31xf32>, tensor<16x211x64xf32>) {
  // CHECK-NEXT: stablehlo.dot_general %u, %v,
  // CHECK-NEXT: stablehlo.dot_general %s, %w,
  %a = stablehlo.dot_general %u, %v, contracting_dims = [1] x [0] : (tensor<32x197xf32>, tensor<197x31xf32>) -> tensor<32x31xf32>
  %b = stablehlo.dot_general %s, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<16x211x197xf32>, tensor<16x197x64xf32>) -> tensor<16x211x64xf32>
  func.return %a, %b : tensor<32x31xf32>, tensor<16x211x64xf32>
}

// A row of 28 is two tiles of 14; of 19 no part is one. Channels that are last become even.
// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<1x3x30x3xf32>, %y: tensor<1x3x21x3xf32>) -> (tensor<1x1x28x4xf32>, tensor<1x1x19x4xf32>) {
  // CHECK: %[[P:.*]] = stablehlo.pad %x, %{{.*}}, low = [0, 0, 0, 0], high = [0, 0, 0, 1], interior = [0, 0, 0, 0]
  // CHECK-NEXT: %[[R:.*]] = stablehlo.convert %[[P]] {flushes} : (tensor<1x3x30x4xf32>) -> tensor<1x3x30x4xbf16>
  // CHECK-NEXT: %[[W:.*]] = stablehlo.constant dense_resource<rounded> : tensor<3x3x4x4xbf16>
  // CHECK-NEXT: stablehlo.convolution(%[[R]], %[[W]]) {{.*}} -> tensor<1x1x28x4xf32>
  // CHECK-NEXT: stablehlo.convolution(%y, %{{.*}}) {{.*}} : (tensor<1x3x21x3xf32>, tensor<3x3x3x4xf32>)
  %w = stablehlo.constant dense<1.0> : tensor<3x3x3x4xf32>
  %a = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x30x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x1x28x4xf32>
  %b = stablehlo.convolution(%y, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x21x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x1x19x4xf32>
  func.return %a, %b : tensor<1x1x28x4xf32>, tensor<1x1x19x4xf32>
}

// CHECK-LABEL: func.func @channels_first
func.func @channels_first(%x: tensor<1x32x3x30xf32>, %w: tensor<4x32x3x3xf32>) -> tensor<1x4x1x28xf32> {
  // CHECK-NEXT: stablehlo.convolution(%x, %w) {{.*}} : (tensor<1x32x3x30xf32>, tensor<4x32x3x3xf32>)
  %a = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x32x3x30xf32>, tensor<4x32x3x3xf32>) -> tensor<1x4x1x28xf32>
  func.return %a : tensor<1x4x1x28xf32>
}

// What a row reads once is rounded where it is a constant, and read as it is where that would be one more pass over it.
// CHECK-LABEL: func.func @one_row
func.func @one_row(%x: tensor<1x64xf32>, %w: tensor<64x32xf32>) -> (tensor<1x32xf32>, tensor<1x32xf32>) {
  // CHECK-DAG: stablehlo.dot_general %x, %w, {{.*}} : (tensor<1x64xf32>, tensor<64x32xf32>)
  // CHECK-DAG: stablehlo.dot_general {{.*}} : (tensor<1x64xbf16>, tensor<64x32xbf16>)
  %c = stablehlo.constant dense<1.5> : tensor<64x32xf32>
  %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  %b = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0] : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  func.return %a, %b : tensor<1x32xf32>, tensor<1x32xf32>
}
