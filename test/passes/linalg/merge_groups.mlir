// RUN: lamina-opt %s -p linalg-merge-groups --machine x86-64-avx512 | filecheck %s

#x = affine_map<(n, h, w, g, o, i, j, c) -> (n, h * 2 + i, w * 2 + j, g, c)>
#k = affine_map<(n, h, w, g, o, i, j, c) -> (i, j, c, g, o)>
#y = affine_map<(n, h, w, g, o, i, j, c) -> (n, h, w, g, o)>

// Groups of four, of which a vector has four.
// CHECK-LABEL: func.func @of_four
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d1 * 2) + d4), ((d2 * 2) + d5), (((d3 floordiv 4) * 4) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>]
// CHECK-SAME: ins(%x, %k : tensor<1x9x9x32xf32>, tensor<3x3x4x32xf32>)
// CHECK-NOT: tensor.collapse_shape
// CHECK: func.return
func.func @of_four(%x: tensor<1x9x9x32xf32>, %k: tensor<3x3x4x32xf32>) -> tensor<1x4x4x32xf32> {
  %z = arith.constant 0.0 : f32
  %g = tensor.expand_shape %x [[0 : i64], [1 : i64], [2 : i64], [3 : i64, 4 : i64]] output_shape [1, 9, 9, 8, 4] : tensor<1x9x9x32xf32> into tensor<1x9x9x8x4xf32>
  %f = tensor.expand_shape %k [[0 : i64], [1 : i64], [2 : i64], [3 : i64, 4 : i64]] output_shape [3, 3, 4, 8, 4] : tensor<3x3x4x32xf32> into tensor<3x3x4x8x4xf32>
  %e = tensor.empty() : tensor<1x4x4x8x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<1x4x4x8x4xf32>) -> tensor<1x4x4x8x4xf32>
  %s = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%g, %f : tensor<1x9x9x8x4xf32>, tensor<3x3x4x8x4xf32>) outs(%i : tensor<1x4x4x8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x4x4x8x4xf32>
  %y = tensor.collapse_shape %s [[0 : i64], [1 : i64], [2 : i64], [3 : i64, 4 : i64]] : tensor<1x4x4x8x4xf32> into tensor<1x4x4x32xf32>
  func.return %y : tensor<1x4x4x32xf32>
}

// A group of sixteen fills a vector as it is.
// CHECK-LABEL: func.func @of_sixteen
// CHECK-COUNT-2: tensor.expand_shape
// CHECK: linalg.generic
// CHECK-SAME: tensor<1x9x9x2x16xf32>
// CHECK: tensor.collapse_shape
func.func @of_sixteen(%x: tensor<1x9x9x32xf32>, %k: tensor<3x3x16x32xf32>) -> tensor<1x4x4x32xf32> {
  %z = arith.constant 0.0 : f32
  %g = tensor.expand_shape %x [[0 : i64], [1 : i64], [2 : i64], [3 : i64, 4 : i64]] output_shape [1, 9, 9, 2, 16] : tensor<1x9x9x32xf32> into tensor<1x9x9x2x16xf32>
  %f = tensor.expand_shape %k [[0 : i64], [1 : i64], [2 : i64], [3 : i64, 4 : i64]] output_shape [3, 3, 16, 2, 16] : tensor<3x3x16x32xf32> into tensor<3x3x16x2x16xf32>
  %e = tensor.empty() : tensor<1x4x4x2x16xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<1x4x4x2x16xf32>) -> tensor<1x4x4x2x16xf32>
  %s = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%g, %f : tensor<1x9x9x2x16xf32>, tensor<3x3x16x2x16xf32>) outs(%i : tensor<1x4x4x2x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<1x4x4x2x16xf32>
  %y = tensor.collapse_shape %s [[0 : i64], [1 : i64], [2 : i64], [3 : i64, 4 : i64]] : tensor<1x4x4x2x16xf32> into tensor<1x4x4x32xf32>
  func.return %y : tensor<1x4x4x32xf32>
}
