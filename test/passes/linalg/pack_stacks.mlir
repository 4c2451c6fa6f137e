// RUN: lamina-opt %s -p linalg-pack-contractions --machine x86-64-avx512 | filecheck %s
// RUN: lamina-opt %s -p linalg-outline-kernels | filecheck %s --check-prefix OUTSIDE

// A matrix that a computed number takes out of a constant stack is packed with all others, outside of the loop. The
// caller finds it: kernels take it as they take a constant.

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func public @main
// CHECK:         %[[P:.*]] = linalg.pack %w padding_value(%{{.*}} : f32) outer_dims_perm = [0, 2, 1] inner_dims_pos = [2] inner_tiles = [16] into %{{.*}} : tensor<4x64x100xf32> -> tensor<4x7x64x16xf32>
// CHECK:         scf.for
// CHECK:           %[[S:.*]] = tensor.extract_slice %[[P]][%{{.*}}, 0, 0, 0] [1, 7, 64, 16] [1, 1, 1, 1]
// CHECK-NEXT:      %[[M:.*]] = tensor.collapse_shape %[[S]] {{.*}}[0 : i64, 1 : i64], [2 : i64], [3 : i64]{{.*}} : tensor<1x7x64x16xf32> into tensor<7x64x16xf32>
// CHECK:           linalg.generic {{.*}} ins(%{{.*}}, %[[M]] : tensor<13x64xf32>, tensor<7x64x16xf32>)
// OUTSIDE-LABEL: func.func public @main
// OUTSIDE:         scf.for
// OUTSIDE:           %[[I:.*]] = tensor.extract
// OUTSIDE:           %[[V:.*]] = tensor.extract_slice %w[%[[I]], 0, 0] [1, 64, 100] [1, 1, 1]
// OUTSIDE-NEXT:      %[[B:.*]] = tensor.collapse_shape %[[V]]
// OUTSIDE:           func.call @kernel_0({{.*}}%[[B]]
func.func public @main(%a: tensor<13x64xf32>, %c: tensor<13x100xf32>, %places: tensor<9xindex>) -> tensor<13x100xf32> {
  %w = arith.constant dense_resource<w> : tensor<4x64x100xf32>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %nine = arith.constant 9 : index
  %y = scf.for %j = %zero to %nine step %one iter_args(%sum = %c) -> (tensor<13x100xf32>) {
    %i = tensor.extract %places[%j] : tensor<9xindex>
    %s = tensor.extract_slice %w[%i, 0, 0] [1, 64, 100] [1, 1, 1] : tensor<4x64x100xf32> to tensor<1x64x100xf32>
    %b = tensor.collapse_shape %s [[0, 1], [2]] : tensor<1x64x100xf32> into tensor<64x100xf32>
    %n = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<13x64xf32>, tensor<64x100xf32>) outs(%sum : tensor<13x100xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %p = arith.mulf %l, %r : f32
      %q = arith.addf %o, %p : f32
      linalg.yield %q : f32
    } -> tensor<13x100xf32>
    scf.yield %n : tensor<13x100xf32>
  }
  func.return %y : tensor<13x100xf32>
}
