// An elementwise chain, fused into one generic: gelu(x + bias), bias broadcast along the rows.
// RUN: lamina-opt %s | lamina-opt | filecheck %s
// CHECK: func.call @kernel_0
#rows = affine_map<(d0, d1) -> (d0, d1)>
#cols = affine_map<(d0, d1) -> (d1)>
func.func public @main(%x: tensor<5x19xf32> {lamina.name = "x"}) -> (tensor<5x19xf32> {lamina.name = "y"}) {
  %bias = arith.constant dense_resource<bias> : tensor<19xf32>
  %dst = tensor.empty() : tensor<5x19xf32>
  %y = func.call @kernel_0(%x, %bias, %dst) : (tensor<5x19xf32>, tensor<19xf32>, tensor<5x19xf32>) -> tensor<5x19xf32>
  func.return %y : tensor<5x19xf32>
}
func.func private @kernel_0(%x: tensor<5x19xf32>, %bias: tensor<19xf32>, %dst: tensor<5x19xf32>) -> tensor<5x19xf32> attributes {lamina.kernel = "loops"} {
  %y = linalg.generic {indexing_maps = [#rows, #cols, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %bias : tensor<5x19xf32>, tensor<19xf32>) outs(%dst : tensor<5x19xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %rsqrt2 = arith.constant 0.707106769 : f32
    %s = arith.addf %a, %b : f32
    %t = arith.mulf %s, %rsqrt2 : f32
    %e = math.erf %t : f32
    %p = arith.addf %e, %one : f32
    %h = arith.mulf %s, %half : f32
    %g = arith.mulf %h, %p : f32
    linalg.yield %g : f32
  } -> tensor<5x19xf32>
  func.return %y : tensor<5x19xf32>
}
