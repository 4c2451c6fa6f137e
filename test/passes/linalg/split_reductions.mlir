// RUN: lamina-opt %s -p linalg-split-reductions | filecheck %s

#all = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
#row = affine_map<(i, j) -> (i)>

// One number of all: sixteen parts, each a kernel's task, then these.
// CHECK-LABEL: func.func @all
// CHECK: %[[X:.*]] = tensor.expand_shape %x {{\[\[}}0 : i64, 1 : i64], [2 : i64]] output_shape [16, 64, 512] : tensor<1024x512xf32> into tensor<16x64x512xf32>
// CHECK: %[[PARTS:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%[[X]] : {{.*}} attrs = {lamina.alone}
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[PARTS]] : tensor<16xf32>)
func.func @all(%x: tensor<1024x512xf32>) -> tensor<f32> {
  %start = arith.constant 3.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%start : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %y = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<1024x512xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  func.return %y : tensor<f32>
}

// Enough results as it is; few points; a length that has no divisor.
// CHECK-LABEL: func.func @whole
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: linalg.generic
func.func @whole(%x: tensor<16x65536xf32>, %y: tensor<64x512xf32>, %z: tensor<1x1000003xf32>) -> (tensor<16xf32>, tensor<f32>, tensor<1xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<16xf32>
  %i0 = linalg.fill ins(%low : f32) outs(%e0 : tensor<16xf32>) -> tensor<16xf32>
  %r0 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x65536xf32>) outs(%i0 : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  %e1 = tensor.empty() : tensor<f32>
  %i1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<f32>) -> tensor<f32>
  %r1 = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%y : tensor<64x512xf32>) outs(%i1 : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %e2 = tensor.empty() : tensor<1xf32>
  %i2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<1xf32>) -> tensor<1xf32>
  %r2 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%z : tensor<1x1000003xf32>) outs(%i2 : tensor<1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maximumf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<1xf32>
  func.return %r0, %r1, %r2 : tensor<16xf32>, tensor<f32>, tensor<1xf32>
}
