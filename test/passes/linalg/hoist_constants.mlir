// RUN: lamina-opt %s -p linalg-hoist-constants | filecheck %s

// The packing of a weight leaves the function, once for each call; the destination and the padding go along. What
// needs %x stays, and so does the bias, which is read as it is.

// CHECK-LABEL: func.func public @main
// CHECK:         [[E0:%.*]] = tensor.empty() : tensor<1x3x16xf32>
// CHECK:         [[P0:%.*]] = linalg.pack %w0
// CHECK-SAME:      into [[E0]]
// CHECK:         %0 = func.call @repeat_0(%x, %b0, [[P0]])
// CHECK:         [[P1:%.*]] = linalg.pack %w1
// CHECK:         %1 = func.call @repeat_0(%0, %b1, [[P1]])
// CHECK:       func.func private @repeat_0(%x: tensor<3x16xf32>, %b: tensor<16xf32>, %p: tensor<1x3x16xf32>)
// CHECK-SAME:  lamina.constant_args = 2 : i64
// CHECK-NOT:     linalg.pack
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%x, %b, %p :
func.func public @main(%x: tensor<3x16xf32>) -> tensor<3x16xf32> {
  %w0 = arith.constant dense<1.0> : tensor<3x13xf32>
  %w1 = arith.constant dense<2.0> : tensor<3x13xf32>
  %b0 = arith.constant dense<3.0> : tensor<16xf32>
  %b1 = arith.constant dense<4.0> : tensor<16xf32>
  %0 = func.call @repeat_0(%x, %w0, %b0) : (tensor<3x16xf32>, tensor<3x13xf32>, tensor<16xf32>) -> tensor<3x16xf32>
  %1 = func.call @repeat_0(%0, %w1, %b1) : (tensor<3x16xf32>, tensor<3x13xf32>, tensor<16xf32>) -> tensor<3x16xf32>
  func.return %1 : tensor<3x16xf32>
}

func.func private @repeat_0(%x: tensor<3x16xf32>, %w: tensor<3x13xf32>, %b: tensor<16xf32>) -> tensor<3x16xf32> attributes {lamina.constant_args = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x3x16xf32>
  %p = linalg.pack %w padding_value(%zero : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [16] into %e : tensor<3x13xf32> -> tensor<1x3x16xf32>
  %d = tensor.empty() : tensor<3x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (0, i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %b, %p : tensor<3x16xf32>, tensor<16xf32>, tensor<1x3x16xf32>) outs(%d : tensor<3x16xf32>) {
  ^bb0(%0: f32, %1: f32, %2: f32, %3: f32):
    %4 = arith.addf %0, %1 : f32
    %5 = arith.addf %4, %2 : f32
    linalg.yield %5 : f32
  } -> tensor<3x16xf32>
  func.return %y : tensor<3x16xf32>
}
