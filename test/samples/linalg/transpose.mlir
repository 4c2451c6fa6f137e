// A transposed copy (NCHW to NHWC): a generic that only yields, with a permuted map on the input.
// RUN: lamina-opt %s | lamina-opt | filecheck %s
// CHECK: func.call @kernel_0
#in = affine_map<(n, h, w, c) -> (n, c, h, w)>
#out = affine_map<(n, h, w, c) -> (n, h, w, c)>
func.func public @main(%x: tensor<1x3x9x17xf32> {lamina.name = "x"}) -> (tensor<1x9x17x3xf32> {lamina.name = "y"}) {
  %dst = tensor.empty() : tensor<1x9x17x3xf32>
  %y = func.call @kernel_0(%x, %dst) : (tensor<1x3x9x17xf32>, tensor<1x9x17x3xf32>) -> tensor<1x9x17x3xf32>
  func.return %y : tensor<1x9x17x3xf32>
}
func.func private @kernel_0(%x: tensor<1x3x9x17xf32>, %dst: tensor<1x9x17x3xf32>) -> tensor<1x9x17x3xf32> attributes {lamina.kernel = "copy"} {
  %y = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x3x9x17xf32>) outs(%dst : tensor<1x9x17x3xf32>) {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  } -> tensor<1x9x17x3xf32>
  func.return %y : tensor<1x9x17x3xf32>
}
