// RUN: lamina-opt %s -p linalg-outline-kernels{roundings=true} | filecheck %s
// RUN: lamina-opt %s -p linalg-outline-kernels | filecheck %s --check-prefix APART

#id = affine_map<(d0, d1) -> (d0, d1)>
#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (k, n)>
#sums = affine_map<(m, n, k) -> (m, n)>

// A sum that is returned, and rounded for the next product: one kernel writes both, where that is asked for.
// CHECK-LABEL: func.func public @both
// CHECK:       %[[P:.*]], %[[Q:.*]] = func.call @[[PRODUCT:kernel_.*]](%x, %w, %b, %{{.*}}, %{{.*}}) : {{.*}} -> (tensor<16x16xf32>, tensor<16x16xbf16>)
// CHECK-NEXT:  func.return %[[P]], %[[Q]]
// CHECK:       func.func private @[[PRODUCT]]
// CHECK-SAME:  lamina.kernel = "contraction"
// CHECK:       arith.truncf

// APART-LABEL: func.func public @both
// APART:       %[[P:.*]] = func.call @[[PRODUCT:kernel_.*]](%x, %w, %b,
// APART:       %[[Q:.*]] = func.call @[[ROUNDING:kernel_.*]](%[[P]],
// APART:       func.func private @[[ROUNDING]]
// APART-SAME:  lamina.kernel = "loops"
func.func public @both(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xbf16>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %n = tensor.empty() : tensor<16x16xbf16>
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
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<16x16xf32>) outs(%n : tensor<16x16xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %s = arith.truncf %a : f32 to bf16
    linalg.yield %s : bf16
  } -> tensor<16x16xbf16>
  func.return %q, %r : tensor<16x16xf32>, tensor<16x16xbf16>
}
