// A depthwise 3x3 convolution in NHWC with HWC weights: the channel is parallel and in all three maps, so it is
// vectorised like an elementwise kernel and nothing is packed. The epilogue (relu6) is a generic of its own.
// RUN: lamina-opt %s | lamina-opt | filecheck %s
// CHECK: d1 + d4
#a = affine_map<(n, oh, ow, c, kh, kw) -> (n, oh + kh, ow + kw, c)>
#b = affine_map<(n, oh, ow, c, kh, kw) -> (kh, kw, c)>
#c = affine_map<(n, oh, ow, c, kh, kw) -> (n, oh, ow, c)>
#id = affine_map<(n, oh, ow, c) -> (n, oh, ow, c)>
func.func public @main(%x: tensor<1x16x16x20xf32> {lamina.name = "x"}) -> (tensor<1x14x14x20xf32> {lamina.name = "y"}) {
  %w = arith.constant dense_resource<w> : tensor<3x3x20xf32>
  %dst = tensor.empty() : tensor<1x14x14x20xf32>
  %y = func.call @kernel_0(%x, %w, %dst) : (tensor<1x16x16x20xf32>, tensor<3x3x20xf32>, tensor<1x14x14x20xf32>) -> tensor<1x14x14x20xf32>
  func.return %y : tensor<1x14x14x20xf32>
}
func.func private @kernel_0(%x: tensor<1x16x16x20xf32>, %w: tensor<3x3x20xf32>, %dst: tensor<1x14x14x20xf32>) -> tensor<1x14x14x20xf32> attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%dst : tensor<1x14x14x20xf32>) -> tensor<1x14x14x20xf32>
  %acc = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x16x16x20xf32>, tensor<3x3x20xf32>) outs(%init : tensor<1x14x14x20xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x14x14x20xf32>
  %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%acc : tensor<1x14x14x20xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    %six = arith.constant 6.0 : f32
    %s = arith.maximumf %o, %z : f32
    %v = arith.minimumf %s, %six : f32
    linalg.yield %v : f32
  } -> tensor<1x14x14x20xf32>
  func.return %y : tensor<1x14x14x20xf32>
}
