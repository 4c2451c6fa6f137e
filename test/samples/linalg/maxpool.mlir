// A 3x3 max pooling of stride 2 in NHWC. The window's extent comes from a `tensor.empty` that is never read
// (MLIR's convention for pooling): it needs no memory.
// RUN: lamina-opt %s | lamina-opt | filecheck %s
// CHECK: ((d1 * 2) + d4)
#x = affine_map<(n, oh, ow, c, kh, kw) -> (n, oh * 2 + kh, ow * 2 + kw, c)>
#w = affine_map<(n, oh, ow, c, kh, kw) -> (kh, kw)>
#y = affine_map<(n, oh, ow, c, kh, kw) -> (n, oh, ow, c)>
func.func public @main(%x: tensor<1x15x15x20xf32> {lamina.name = "x"}) -> (tensor<1x7x7x20xf32> {lamina.name = "y"}) {
  %dst = tensor.empty() : tensor<1x7x7x20xf32>
  %y = func.call @kernel_0(%x, %dst) : (tensor<1x15x15x20xf32>, tensor<1x7x7x20xf32>) -> tensor<1x7x7x20xf32>
  func.return %y : tensor<1x7x7x20xf32>
}
func.func private @kernel_0(%x: tensor<1x15x15x20xf32>, %dst: tensor<1x7x7x20xf32>) -> tensor<1x7x7x20xf32> attributes {lamina.kernel = "loops"} {
  %ninf = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<3x3xf32>
  %init = linalg.fill ins(%ninf : f32) outs(%dst : tensor<1x7x7x20xf32>) -> tensor<1x7x7x20xf32>
  %y = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %window : tensor<1x15x15x20xf32>, tensor<3x3xf32>) outs(%init : tensor<1x7x7x20xf32>) {
  ^bb0(%a: f32, %unused: f32, %o: f32):
    %v = arith.maximumf %o, %a : f32
    linalg.yield %v : f32
  } -> tensor<1x7x7x20xf32>
  func.return %y : tensor<1x7x7x20xf32>
}
