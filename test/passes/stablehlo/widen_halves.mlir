// RUN: lamina-opt %s -p stablehlo-widen-halves | filecheck %s
// RUN: lamina-opt %s -p stablehlo-widen-halves --machine x86-64-amx | filecheck %s --check-prefix=BF16
// RUN: lamina-opt %s -p stablehlo-widen-halves --machine sm_80 | filecheck %s --check-prefix=BOTH

// CHECK-LABEL: func.func @many
func.func @many(%x: tensor<9x2xbf16>) -> tensor<9x2xbf16> {
  // CHECK-NEXT: %[[A:.*]] = stablehlo.convert %x : (tensor<9x2xbf16>) -> tensor<9x2xf32>
  // CHECK-NEXT: %[[W:.*]] = stablehlo.constant dense<{{.*}}> : tensor<2x2xf32>
  // CHECK-NEXT: %[[S:.*]] = stablehlo.dot_general %[[A]], %[[W]], contracting_dims = [1] x [0] : (tensor<9x2xf32>, tensor<2x2xf32>) -> tensor<9x2xf32>
  // CHECK-NEXT: stablehlo.convert %[[S]] : (tensor<9x2xf32>) -> tensor<9x2xbf16>
  %w = stablehlo.constant dense<[[1.0, 3.0], [-2.5, 1.0]]> : tensor<2x2xbf16>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<9x2xbf16>, tensor<2x2xbf16>) -> tensor<9x2xbf16>
  func.return %y : tensor<9x2xbf16>
}

// Few rows: the weights stay half as large.
// CHECK-LABEL: func.func @few
func.func @few(%x: tensor<8x2xf16>, %w: tensor<2x2xf16>) -> tensor<8x2xf16> {
  // CHECK-NOT: f32
  // CHECK: func.return
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x2xf16>, tensor<2x2xf16>) -> tensor<8x2xf16>
  func.return %y : tensor<8x2xf16>
}

// What multiplies bfloat16 does not multiply float16, but GPUs do.
// CHECK-LABEL: func.func @float16
// BF16-LABEL: func.func @float16
// BOTH-LABEL: func.func @float16
func.func @float16(%x: tensor<9x2xf16>, %w: tensor<2x2xf16>, %a: tensor<9x2xbf16>, %b: tensor<2x2xbf16>) -> (tensor<9x2xf16>, tensor<9x2xbf16>) {
  // CHECK: stablehlo.dot_general {{.*}} : (tensor<9x2xf32>, tensor<2x2xf32>) -> tensor<9x2xf32>
  // CHECK: stablehlo.dot_general {{.*}} : (tensor<9x2xf32>, tensor<2x2xf32>) -> tensor<9x2xf32>
  // BF16: stablehlo.dot_general {{.*}} : (tensor<9x2xf32>, tensor<2x2xf32>) -> tensor<9x2xf32>
  // BF16: stablehlo.dot_general %a, %b
  // BOTH: stablehlo.dot_general %x, %w
  // BOTH: stablehlo.dot_general %a, %b
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<9x2xf16>, tensor<2x2xf16>) -> tensor<9x2xf16>
  %z = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<9x2xbf16>, tensor<2x2xbf16>) -> tensor<9x2xbf16>
  func.return %y, %z : tensor<9x2xf16>, tensor<9x2xbf16>
}

// CHECK-LABEL: func.func @convolution
// CHECK: stablehlo.convert %x : (tensor<1x3x3x2xf16>) -> tensor<1x3x3x2xf32>
// CHECK: stablehlo.convolution({{.*}} : (tensor<1x3x3x2xf32>, tensor<1x1x2x4xf32>) -> tensor<1x3x3x4xf32>
// CHECK: stablehlo.convert {{.*}} : (tensor<1x3x3x4xf32>) -> tensor<1x3x3x4xf16>
// BOTH-LABEL: func.func @convolution
// BOTH-NOT: f32
func.func @convolution(%x: tensor<1x3x3x2xf16>) -> tensor<1x3x3x4xf16> {
  %w = stablehlo.constant dense<0.5> : tensor<1x1x2x4xf16>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x2xf16>, tensor<1x1x2x4xf16>) -> tensor<1x3x3x4xf16>
  func.return %y : tensor<1x3x3x4xf16>
}
