// A 3x3 convolution of stride 2 in NHWC: the input is padded by a kernel of its own, the weights are packed
// [ceil(F/16), KH, KW, C, 16], the epilogue adds a bias and a residual and clips at zero.
// RUN: lamina-opt %s | lamina-opt | filecheck %s
// CHECK: ((d1 * 2) + d4)
#a = affine_map<(n, oh, ow, f, kh, kw, c) -> (n, oh * 2 + kh, ow * 2 + kw, c)>
#b = affine_map<(n, oh, ow, f, kh, kw, c) -> (f floordiv 16, kh, kw, c, f mod 16)>
#c = affine_map<(n, oh, ow, f, kh, kw, c) -> (n, oh, ow, f)>
#id = affine_map<(n, oh, ow, f) -> (n, oh, ow, f)>
#f = affine_map<(n, oh, ow, f) -> (f)>
func.func public @main(%x: tensor<1x14x14x8xf32> {lamina.name = "x"}, %res: tensor<1x7x7x24xf32> {lamina.name = "residual"}) -> (tensor<1x7x7x24xf32> {lamina.name = "y"}) {
  %w = arith.constant dense_resource<w_packed> : tensor<2x3x3x8x16xf32>
  %bias = arith.constant dense_resource<bias> : tensor<24xf32>
  %pdst = tensor.empty() : tensor<1x16x16x8xf32>
  %p = func.call @kernel_0(%x, %pdst) : (tensor<1x14x14x8xf32>, tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
  %dst = tensor.empty() : tensor<1x7x7x24xf32>
  %y = func.call @kernel_1(%p, %w, %bias, %res, %dst) : (tensor<1x16x16x8xf32>, tensor<2x3x3x8x16xf32>, tensor<24xf32>, tensor<1x7x7x24xf32>, tensor<1x7x7x24xf32>) -> tensor<1x7x7x24xf32>
  func.return %y : tensor<1x7x7x24xf32>
}
func.func private @kernel_0(%x: tensor<1x14x14x8xf32>, %dst: tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32> attributes {lamina.kernel = "copy"} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%dst : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
  %p = tensor.insert_slice %x into %init[0, 1, 1, 0] [1, 14, 14, 8] [1, 1, 1, 1] : tensor<1x14x14x8xf32> into tensor<1x16x16x8xf32>
  func.return %p : tensor<1x16x16x8xf32>
}
func.func private @kernel_1(%x: tensor<1x16x16x8xf32>, %w: tensor<2x3x3x8x16xf32>, %bias: tensor<24xf32>, %res: tensor<1x7x7x24xf32>, %dst: tensor<1x7x7x24xf32>) -> tensor<1x7x7x24xf32> attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%dst : tensor<1x7x7x24xf32>) -> tensor<1x7x7x24xf32>
  %acc = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x16x16x8xf32>, tensor<2x3x3x8x16xf32>) outs(%init : tensor<1x7x7x24xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x7x7x24xf32>
  %y = linalg.generic {indexing_maps = [#f, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%bias, %res : tensor<24xf32>, tensor<1x7x7x24xf32>) outs(%acc : tensor<1x7x7x24xf32>) {
  ^bb0(%b: f32, %r: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %s = arith.addf %o, %b : f32
    %t = arith.addf %s, %r : f32
    %v = arith.maximumf %t, %z : f32
    linalg.yield %v : f32
  } -> tensor<1x7x7x24xf32>
  func.return %y : tensor<1x7x7x24xf32>
}
