// Ops that the specification has left behind become those that took their place.
// RUN: lamina-opt %s -p stablehlo-replace-deprecated | filecheck %s

// CHECK-LABEL: func.func @all(
func.func @all(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %v: tensor<3xf32>, %i: tensor<5xi32>) -> (tensor<2x4xf32>, tensor<2x1x3xf32>, tensor<4x2xf32>, tensor<2x5xf32>) {
  // CHECK-NEXT: stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
  %dot = stablehlo.dot %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: stablehlo.broadcast_in_dim %v, dims = [2]
  %wide = stablehlo.broadcast %v, sizes = [2, 1] : (tensor<3xf32>) -> tensor<2x1x3xf32>
  // CHECK-NEXT: %[[P:.*]] = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
  // CHECK-NEXT: stablehlo.transpose %[[P]], dims = [1, 0]
  %einsum = stablehlo.einsum %a, %b, config = "ij,jk->ki" : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  // CHECK-NEXT: "stablehlo.gather"(%a, %i)
  %chosen = "stablehlo.torch_index_select"(%a, %i) <{batch_dims = 0 : i64, dim = 1 : i64}> : (tensor<2x3xf32>, tensor<5xi32>) -> tensor<2x5xf32>
  func.return %dot, %wide, %einsum, %chosen : tensor<2x4xf32>, tensor<2x1x3xf32>, tensor<4x2xf32>, tensor<2x5xf32>
}
