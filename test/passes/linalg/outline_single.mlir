// RUN: lamina-opt %s -p linalg-outline-kernels | filecheck %s

#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (k, n)>
#sums = affine_map<(m, n, k) -> (m, n)>
#first = affine_map<() -> (0, 0)>
#point = affine_map<() -> ()>

// What takes a single element of a product has no rows at all.
// CHECK-LABEL: func.func public @single
// CHECK:       %[[P:.*]] = func.call @[[PRODUCT:kernel_.*]](%x, %w,
// CHECK:       func.call @[[CAST:kernel_.*]](%[[P]],
// CHECK:       func.func private @[[PRODUCT]]
// CHECK-SAME:  lamina.kernel = "contraction"
// CHECK:       func.func private @[[CAST]]
// CHECK:       arith.fptosi
func.func public @single(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<i32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %p = linalg.generic {indexing_maps = [#left, #right, #sums], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %m = arith.mulf %a, %c : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<16x16xf32>
  %d = tensor.empty() : tensor<i32>
  %q = linalg.generic {indexing_maps = [#first, #point], iterator_types = []} ins(%p : tensor<16x16xf32>) outs(%d : tensor<i32>) {
  ^bb0(%a: f32, %o: i32):
    %s = arith.fptosi %a : f32 to i32
    linalg.yield %s : i32
  } -> tensor<i32>
  func.return %q : tensor<i32>
}
