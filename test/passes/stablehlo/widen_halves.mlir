// RUN: lamina-opt %s -p stablehlo-widen-halves | filecheck %s

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
