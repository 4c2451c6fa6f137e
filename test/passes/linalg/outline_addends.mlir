// RUN: lamina-opt %s -p linalg-outline-kernels | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (k, n)>
#sums = affine_map<(m, n, k) -> (m, n)>
#across = affine_map<(d0, d1) -> (d1, d0)>

// What is added along the rows of a product is its epilogue; what lies across them is added by a kernel of its own.
// CHECK-LABEL: func.func public @addends
// CHECK:       %[[P:.*]] = func.call @[[PRODUCT:kernel_.*]](%x, %w, %b,
// CHECK:       %[[R:.*]] = func.call @[[SUM:kernel_.*]](%[[P]], %t,
// CHECK-NEXT:  func.return %[[R]]
// CHECK:       func.func private @[[PRODUCT]]
// CHECK-SAME:  lamina.kernel = "contraction"
// CHECK:       arith.mulf
// CHECK:       arith.addf
// CHECK:       arith.addf
// CHECK:       func.func private @[[SUM]]
// CHECK:       arith.addf
func.func public @addends(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16x16xf32>, %t: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %p = linalg.generic {indexing_maps = [#left, #right, #sums], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %m = arith.mulf %a, %c : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<16x16xf32>
  %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<16x16xf32>, tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<16x16xf32>
  %r = linalg.generic {indexing_maps = [#id, #across, #id], iterator_types = ["parallel", "parallel"]} ins(%q, %t : tensor<16x16xf32>, tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<16x16xf32>
  func.return %r : tensor<16x16xf32>
}
