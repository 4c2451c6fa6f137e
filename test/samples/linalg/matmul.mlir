// A matmul with a constant B, packed at compile time into panels [ceil(N/16), K, 16] (the tail padded with
// zeros), and its epilogue on the same (m, n) domain: + bias, relu. The epilogue updates the accumulator in
// place: it reads it through `outs`.
// RUN: lamina-opt %s | lamina-opt | filecheck %s
// CHECK: (d1 floordiv 16), d2, (d1 mod 16)
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1 floordiv 16, d2, d1 mod 16)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> (d1)>
func.func public @main(%x: tensor<13x64xf32> {lamina.name = "x"}) -> (tensor<13x100xf32> {lamina.name = "y"}) {
  %w = arith.constant dense_resource<w_packed> : tensor<7x64x16xf32>
  %bias = arith.constant dense_resource<bias> : tensor<100xf32>
  %dst = tensor.empty() : tensor<13x100xf32>
  %y = func.call @kernel_0(%x, %w, %bias, %dst) : (tensor<13x64xf32>, tensor<7x64x16xf32>, tensor<100xf32>, tensor<13x100xf32>) -> tensor<13x100xf32>
  func.return %y : tensor<13x100xf32>
}
func.func private @kernel_0(%x: tensor<13x64xf32>, %w: tensor<7x64x16xf32>, %bias: tensor<100xf32>, %dst: tensor<13x100xf32>) -> tensor<13x100xf32> attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%dst : tensor<13x100xf32>) -> tensor<13x100xf32>
  %acc = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<13x64xf32>, tensor<7x64x16xf32>) outs(%init : tensor<13x100xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<13x100xf32>
  %y = linalg.generic {indexing_maps = [#n, #id], iterator_types = ["parallel", "parallel"]}
      ins(%bias : tensor<100xf32>) outs(%acc : tensor<13x100xf32>) {
  ^bb0(%b: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %s = arith.addf %o, %b : f32
    %r = arith.maximumf %s, %z : f32
    linalg.yield %r : f32
  } -> tensor<13x100xf32>
  func.return %y : tensor<13x100xf32>
}
