// RUN: lamina-opt %s -p linalg-fold-constants | filecheck %s

// CHECK-LABEL: func.func @pack
// CHECK-NOT: linalg.pack
// CHECK: %[[P:.*]] = arith.constant dense<{{\[\[}}[1.000000e+00, 2.000000e+00], [4.000000e+00, 5.000000e+00]], {{\[\[}}3.000000e+00, 0.000000e+00], [6.000000e+00, 0.000000e+00]]]> : tensor<2x2x2xf32>
// CHECK-NEXT: func.return %[[P]] : tensor
func.func @pack() -> tensor<2x2x2xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x2xf32>
  %p = linalg.pack %w padding_value(%z : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [2] into %e : tensor<2x3xf32> -> tensor<2x2x2xf32>
  func.return %p : tensor<2x2x2xf32>
}

// A computation on constants, and a view of its result.
// CHECK-LABEL: func.func @computed
// CHECK: %[[P:.*]] = arith.constant dense<{{\[\[}}1.000000e+00, 9.000000e+00], [4.000000e+00, 1.600000e+01]]> : tensor<2x2xf32>
// CHECK: func.return %[[P]]
func.func @computed() -> tensor<2x2xf32> {
  %w = arith.constant dense<[1.0, 3.0, 2.0, 4.0]> : tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%w : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %p = arith.mulf %i, %i : f32
    linalg.yield %p : f32
  } -> tensor<4xf32>
  %v = tensor.expand_shape %s [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  func.return %v : tensor<2x2xf32>
}

// A broadcast to many elements is not written out.
// CHECK-LABEL: func.func @broadcast
// CHECK: linalg.generic
func.func @broadcast() -> tensor<100x4xf32> {
  %w = arith.constant dense<[1.0, 3.0, 2.0, 4.0]> : tensor<4xf32>
  %e = tensor.empty() : tensor<100x4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<4xf32>) outs(%e : tensor<100x4xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<100x4xf32>
  func.return %s : tensor<100x4xf32>
}
