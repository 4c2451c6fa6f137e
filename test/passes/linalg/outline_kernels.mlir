// RUN: lamina-opt %s -p linalg-outline-kernels | filecheck %s
// RUN: lamina-opt %s -p linalg-outline-kernels,linalg-deduplicate-kernels | filecheck %s --check-prefix SHARED

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Two equal kernels are one; the contraction keeps its epilogue, which updates the accumulator in place; the rows of
// the softmax share a kernel; the view stays in @main; a returned argument is copied.
// CHECK-LABEL: func.func public @main
// CHECK: %[[C:.*]] = func.call @kernel_0(%x, %w, %{{.*}})
// CHECK: %[[S:.*]] = func.call @kernel_1(%[[C]], %{{.*}})
// CHECK: %[[D:.*]] = func.call @kernel_2(%[[S]], %w, %{{.*}})
// CHECK: tensor.expand_shape %[[D]]
// CHECK: %[[X:.*]] = func.call @kernel_3(%x, %{{.*}})
// CHECK: func.return %{{.*}}, %[[X]]
// SHARED: func.call @kernel_0
// SHARED: func.call @kernel_1
// SHARED: func.call @kernel_0
// SHARED: func.call @kernel_3
func.func public @main(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> (tensor<4x4x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %r = tensor.empty() : tensor<16xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%0 : tensor<16x16xf32>) {
  ^bb0(%l: f32, %q: f32, %o: f32):
    %p = arith.mulf %l, %q : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<16x16xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%i: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %v = arith.maximumf %i, %z : f32
    linalg.yield %v : f32
  } -> tensor<16x16xf32>
  %3 = linalg.fill ins(%ninf : f32) outs(%r : tensor<16xf32>) -> tensor<16xf32>
  %4 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%2 : tensor<16x16xf32>) outs(%3 : tensor<16xf32>) {
  ^bb0(%i: f32, %o: f32):
    %v = arith.maximumf %o, %i : f32
    linalg.yield %v : f32
  } -> tensor<16xf32>
  %5 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%2, %4 : tensor<16x16xf32>, tensor<16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %v = arith.subf %i, %j : f32
    linalg.yield %v : f32
  } -> tensor<16x16xf32>
  %6 = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%5, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%6 : tensor<16x16xf32>) {
  ^bb0(%l: f32, %q: f32, %o: f32):
    %p = arith.mulf %l, %q : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<16x16xf32>
  %8 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%7 : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) {
  ^bb0(%i: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %v = arith.maximumf %i, %z : f32
    linalg.yield %v : f32
  } -> tensor<16x16xf32>
  %9 = tensor.expand_shape %8 [[0, 1], [2]] output_shape [4, 4, 16] : tensor<16x16xf32> into tensor<4x4x16xf32>
  func.return %9, %x : tensor<4x4x16xf32>, tensor<16x16xf32>
}

// CHECK: func.func private @kernel_0(%{{.*}}: tensor<16x16xf32>, %{{.*}}: tensor<16x16xf32>, %[[DST:.*]]: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {lamina.kernel = "contraction"}
// CHECK: %[[FILL:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[DST]] : tensor<16x16xf32>)
// CHECK: %[[SUM:.*]] = linalg.generic
// CHECK-SAME: outs(%[[FILL]]
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%[[SUM]]
// CHECK: arith.maximumf
// CHECK: func.func private @kernel_1
// CHECK-SAME: lamina.kernel = "loops"
// CHECK: "reduction"
// CHECK: arith.subf
// CHECK: func.func private @kernel_3
// CHECK-SAME: lamina.kernel = "copy"

// SHARED: func.func private @kernel_0
// SHARED: func.func private @kernel_1
// SHARED-NOT: @kernel_2
// SHARED: func.func private @kernel_3
