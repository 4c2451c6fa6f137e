// RUN: lamina-opt %s -p linalg-fuse-elementwise | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#left = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#right = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#result = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>

// The product of each of two groups is viewed as one matrix: bias and maximum are computed of the product itself.
// CHECK-LABEL: func.func @epilogue
func.func @epilogue(%a: tensor<2x4x5xf32>, %b: tensor<2x5x6xf32>, %bias: tensor<8xf32>) -> tensor<8x6xf32> {
  %f = arith.constant 0.0 : f32
  %z = arith.constant dense<0.0> : tensor<8x6xf32>
  %e = tensor.empty() : tensor<8x6xf32>
  %e3 = tensor.empty() : tensor<2x4x6xf32>
  %init = linalg.fill ins(%f : f32) outs(%e3 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %p = linalg.generic {indexing_maps = [#left, #right, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x4x5xf32>, tensor<2x5x6xf32>) outs(%init : tensor<2x4x6xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x4x6xf32>
  %v = tensor.collapse_shape %p [[0 : i64, 1 : i64], [2 : i64]] : tensor<2x4x6xf32> into tensor<8x6xf32>
  %w = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%bias : tensor<8xf32>) outs(%e : tensor<8x6xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<8x6xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %w : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<8x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %z : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.maximumf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}
// CHECK: [[P:%.*]] = linalg.generic
// CHECK: arith.mulf
// CHECK-NOT: tensor.collapse_shape
// CHECK: [[B:%.*]] = tensor.expand_shape %bias {{.*}} : tensor<8xf32> into tensor<2x4xf32>
// CHECK: [[Y:%.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK-SAME: ins([[P]], [[B]] : tensor<2x4x6xf32>, tensor<2x4xf32>)
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: tensor.collapse_shape [[Y]]
// CHECK-NOT: linalg.generic
// CHECK: func.return

// What another op computes is not split: that op would not be taken in behind a view.
// CHECK-LABEL: func.func @computed
func.func @computed(%a: tensor<2x4x5xf32>, %b: tensor<2x5x6xf32>, %x: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %e3 = tensor.empty() : tensor<2x4x6xf32>
  %init = linalg.fill ins(%f : f32) outs(%e3 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %p = linalg.generic {indexing_maps = [#left, #right, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x4x5xf32>, tensor<2x5x6xf32>) outs(%init : tensor<2x4x6xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x4x6xf32>
  %v = tensor.collapse_shape %p [[0 : i64, 1 : i64], [2 : i64]] : tensor<2x4x6xf32> into tensor<8x6xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.tanh %i : f32
    linalg.yield %0 : f32
  } -> tensor<8x6xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v, %t : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<8x6xf32>
  func.return %s : tensor<8x6xf32>
}
// CHECK: tensor.collapse_shape
// CHECK: math.tanh
// CHECK: arith.addf
// CHECK-NOT: tensor.collapse_shape
// CHECK: func.return
