// RUN: lamina-opt %s -p 'stablehlo-lower-precision{to=bf16}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'stablehlo-lower-precision' --split-input-file | filecheck %s --check-prefix=SAME

// The default machine has no instruction for pairs of bfloat16: weights are kept in it.
// CHECK-LABEL: func.func @weights
// SAME-LABEL: func.func @weights
func.func @weights(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  // CHECK-NEXT: %[[W:.*]] = stablehlo.constant dense<{{\[\[}}1.0{{.*}}, 3.0{{.*}}], [-2.5{{.*}}, 1.0{{.*}}]]> : tensor<2x2xbf16>
  // CHECK-NEXT: %[[V:.*]] = stablehlo.convert %[[W]] : (tensor<2x2xbf16>) -> tensor<2x2xf32>
  // CHECK-NEXT: stablehlo.dot_general %x, %[[V]], contracting_dims = [1] x [0] : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  // SAME-NOT: bf16
  %w = stablehlo.constant dense<[[1.001, 3.0], [-2.5, 1.0]]> : tensor<2x2xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// -----

// Both known at run time only; and a weight that bfloat16 cannot hold.
// CHECK-LABEL: func.func @stay
func.func @stay(%x: tensor<1x2xf32>, %w: tensor<2x2xf32>) -> (tensor<1x2xf32>, tensor<1x1xf32>) {
  // CHECK-NOT: bf16
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %c = stablehlo.constant dense<[[3.4e38], [1.0]]> : tensor<2x1xf32>
  %z = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0] : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32>
  func.return %y, %z : tensor<1x2xf32>, tensor<1x1xf32>
}

// -----

// Many rows: the multiplications take longer than the weights.
// CHECK-LABEL: func.func @many_rows
func.func @many_rows(%x: tensor<3x3x2xf32>) -> tensor<3x3x2xf32> {
  // CHECK-NOT: bf16
  %w = stablehlo.constant dense<[[1.001, 3.0], [-2.5, 1.0]]> : tensor<2x2xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<3x3x2xf32>, tensor<2x2xf32>) -> tensor<3x3x2xf32>
  func.return %y : tensor<3x3x2xf32>
}
