// RUN: lamina-opt %s -p linalg-fuse-elementwise | filecheck %s

#x = affine_map<(p, q, n, k) -> (p, q, k)>
#w = affine_map<(p, q, n, k) -> (k, n)>
#y = affine_map<(p, q, n, k) -> (p, q, n)>
#id = affine_map<(a, b, c) -> (a, b, c)>
#last = affine_map<(a, b, c) -> (c)>
#id4 = affine_map<(a, b, c, d) -> (a, b, c, d)>
#moved = affine_map<(a, b, c, d) -> (a, c, b, d)>
#first = affine_map<(a, b, c, d) -> (b, a, c, d)>

// Of 64 columns two parts of 32 go to different rows of the image: two loops write them there, and the bias is an
// epilogue.
// CHECK-LABEL: func.func @parts
// CHECK:       [[W:%.*]] = tensor.expand_shape %w {{.*}} : tensor<5x64xf32> into tensor<5x2x32xf32>
// CHECK:       [[P:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3)>]
// CHECK-SAME:    ins(%x, [[W]] : tensor<3x4x5xf32>, tensor<5x2x32xf32>)
// CHECK:       [[Y:%.*]] = linalg.generic {{.*}} ins([[P]], %bias : tensor<3x2x4x32xf32>, tensor<32xf32>)
// CHECK:         arith.addf
// CHECK-NOT:   linalg.generic
// CHECK:       tensor.collapse_shape [[Y]]
func.func @parts(%x: tensor<3x4x5xf32>, %w: tensor<5x64xf32>, %bias: tensor<32xf32>) -> tensor<6x4x32xf32> {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x4x64xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<3x4x64xf32>) -> tensor<3x4x64xf32>
  %p = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<3x4x5xf32>, tensor<5x64xf32>) outs(%z : tensor<3x4x64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x4x64xf32>
  %s = tensor.expand_shape %p [[0 : i64], [1 : i64], [2 : i64, 3 : i64]] output_shape [3, 4, 2, 32] : tensor<3x4x64xf32> into tensor<3x4x2x32xf32>
  %e4 = tensor.empty() : tensor<3x2x4x32xf32>
  %t = linalg.generic {indexing_maps = [#moved, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<3x4x2x32xf32>) outs(%e4 : tensor<3x2x4x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<3x2x4x32xf32>
  %c = tensor.collapse_shape %t [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<3x2x4x32xf32> into tensor<6x4x32xf32>
  %e3 = tensor.empty() : tensor<6x4x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #last, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c, %bias : tensor<6x4x32xf32>, tensor<32xf32>) outs(%e3 : tensor<6x4x32xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<6x4x32xf32>
  func.return %r : tensor<6x4x32xf32>
}

// Parts of 8 columns fill no vectors: they are moved.
// CHECK-LABEL: func.func @short
// CHECK:       linalg.generic {{.*}} ins(%x, %w : tensor<3x4x5xf32>, tensor<5x64xf32>)
// CHECK:       tensor.expand_shape
// CHECK:       linalg.generic
func.func @short(%x: tensor<3x4x5xf32>, %w: tensor<5x64xf32>) -> tensor<24x4x8xf32> {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x4x64xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<3x4x64xf32>) -> tensor<3x4x64xf32>
  %p = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<3x4x5xf32>, tensor<5x64xf32>) outs(%z : tensor<3x4x64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x4x64xf32>
  %s = tensor.expand_shape %p [[0 : i64], [1 : i64], [2 : i64, 3 : i64]] output_shape [3, 4, 8, 8] : tensor<3x4x64xf32> into tensor<3x4x8x8xf32>
  %e4 = tensor.empty() : tensor<3x8x4x8xf32>
  %t = linalg.generic {indexing_maps = [#moved, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<3x4x8x8xf32>) outs(%e4 : tensor<3x8x4x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<3x8x4x8xf32>
  %c = tensor.collapse_shape %t [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<3x8x4x8xf32> into tensor<24x4x8xf32>
  func.return %c : tensor<24x4x8xf32>
}

// Rows that are split, too, stay with what moves them.
// CHECK-LABEL: func.func @rows
// CHECK:       linalg.generic {{.*}} ins(%x, %w : tensor<6x5xf32>, tensor<5x32xf32>)
// CHECK:       tensor.expand_shape
// CHECK:       linalg.generic
func.func @rows(%x: tensor<6x5xf32>, %w: tensor<5x32xf32>) -> tensor<6x2x16xf32> {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x32xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<6x32xf32>) -> tensor<6x32xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<6x5xf32>, tensor<5x32xf32>) outs(%z : tensor<6x32xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<6x32xf32>
  %s = tensor.expand_shape %p [[0 : i64, 1 : i64], [2 : i64, 3 : i64]] output_shape [2, 3, 2, 16] : tensor<6x32xf32> into tensor<2x3x2x16xf32>
  %e4 = tensor.empty() : tensor<3x2x2x16xf32>
  %t = linalg.generic {indexing_maps = [#first, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x3x2x16xf32>) outs(%e4 : tensor<3x2x2x16xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<3x2x2x16xf32>
  %c = tensor.collapse_shape %t [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<3x2x2x16xf32> into tensor<6x2x16xf32>
  func.return %c : tensor<6x2x16xf32>
}

// Heads of attention are read in any order.
// CHECK-LABEL: func.func @heads
// CHECK:       linalg.generic {{.*}} ins(%x, %w : tensor<3x4x5xf32>, tensor<5x64xf32>)
// CHECK:       tensor.expand_shape
// CHECK:       linalg.generic
func.func @heads(%x: tensor<3x4x5xf32>, %w: tensor<5x64xf32>) -> tensor<3x2x4x32xf32> {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x4x64xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<3x4x64xf32>) -> tensor<3x4x64xf32>
  %p = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<3x4x5xf32>, tensor<5x64xf32>) outs(%z : tensor<3x4x64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3x4x64xf32>
  %s = tensor.expand_shape %p [[0 : i64], [1 : i64], [2 : i64, 3 : i64]] output_shape [3, 4, 2, 32] : tensor<3x4x64xf32> into tensor<3x4x2x32xf32>
  %e4 = tensor.empty() : tensor<3x2x4x32xf32>
  %t = linalg.generic {indexing_maps = [#moved, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<3x4x2x32xf32>) outs(%e4 : tensor<3x2x4x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<3x2x4x32xf32>
  func.return %t : tensor<3x2x4x32xf32>
}
