// Q K^T of an attention, batched by head: A read with its heads in the middle (the transpose is folded into the
// map), B dynamic, so it is packed inside the kernel into scratch [H, ceil(N/16), K, 16]; the epilogue scales.
// RUN: lamina-opt %s | lamina-opt | filecheck %s
// CHECK: linalg.pack
#a = affine_map<(h, m, n, k) -> (m, h, k)>
#b = affine_map<(h, m, n, k) -> (h, n floordiv 16, k, n mod 16)>
#c = affine_map<(h, m, n, k) -> (h, m, n)>
#id = affine_map<(h, m, n) -> (h, m, n)>
func.func public @main(%q: tensor<40x4x32xf32> {lamina.name = "q"}, %k: tensor<40x4x32xf32> {lamina.name = "k"}) -> (tensor<4x40x40xf32> {lamina.name = "scores"}) {
  %dst = tensor.empty() : tensor<4x40x40xf32>
  %y = func.call @kernel_0(%q, %k, %dst) : (tensor<40x4x32xf32>, tensor<40x4x32xf32>, tensor<4x40x40xf32>) -> tensor<4x40x40xf32>
  func.return %y : tensor<4x40x40xf32>
}
func.func private @kernel_0(%q: tensor<40x4x32xf32>, %k: tensor<40x4x32xf32>, %dst: tensor<4x40x40xf32>) -> tensor<4x40x40xf32> attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  %panels = tensor.empty() : tensor<4x3x32x16xf32>
  %kp = linalg.pack %k padding_value(%zero : f32) outer_dims_perm = [1, 0, 2] inner_dims_pos = [0] inner_tiles = [16] into %panels : tensor<40x4x32xf32> -> tensor<4x3x32x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%dst : tensor<4x40x40xf32>) -> tensor<4x40x40xf32>
  %acc = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %kp : tensor<40x4x32xf32>, tensor<4x3x32x16xf32>) outs(%init : tensor<4x40x40xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x40x40xf32>
  %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%acc : tensor<4x40x40xf32>) {
  ^bb0(%o: f32):
    %scale = arith.constant 0.176776692 : f32
    %v = arith.mulf %o, %scale : f32
    linalg.yield %v : f32
  } -> tensor<4x40x40xf32>
  func.return %y : tensor<4x40x40xf32>
}
