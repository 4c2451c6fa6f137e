// A row kernel: softmax over the last dimension. Intermediates of the rows' size are `tensor.empty` inside the
// kernel (scratch); the big intermediate lives in the destination and is updated in place (read through `outs`).
// RUN: lamina-opt %s | lamina-opt | filecheck %s
// CHECK: func.call @kernel_0
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func public @main(%x: tensor<2x7x33xf32> {lamina.name = "x"}) -> (tensor<2x7x33xf32> {lamina.name = "y"}) {
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x7x33xf32> into tensor<14x33xf32>
  %dst = tensor.empty() : tensor<14x33xf32>
  %y = func.call @kernel_0(%flat, %dst) : (tensor<14x33xf32>, tensor<14x33xf32>) -> tensor<14x33xf32>
  %r = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 7, 33] : tensor<14x33xf32> into tensor<2x7x33xf32>
  func.return %r : tensor<2x7x33xf32>
}
func.func private @kernel_0(%x: tensor<14x33xf32>, %dst: tensor<14x33xf32>) -> tensor<14x33xf32> attributes {lamina.kernel = "loops"} {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %m0 = tensor.empty() : tensor<14xf32>
  %m1 = linalg.fill ins(%ninf : f32) outs(%m0 : tensor<14xf32>) -> tensor<14xf32>
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<14x33xf32>) outs(%m1 : tensor<14xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %v = arith.maximumf %acc, %a : f32
    linalg.yield %v : f32
  } -> tensor<14xf32>
  %exp = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<14x33xf32>, tensor<14xf32>) outs(%dst : tensor<14x33xf32>) {
  ^bb0(%a: f32, %m: f32, %out: f32):
    %d = arith.subf %a, %m : f32
    %e = math.exp %d : f32
    linalg.yield %e : f32
  } -> tensor<14x33xf32>
  %s0 = tensor.empty() : tensor<14xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<14xf32>) -> tensor<14xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<14x33xf32>) outs(%s1 : tensor<14xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %v = arith.addf %acc, %a : f32
    linalg.yield %v : f32
  } -> tensor<14xf32>
  %y = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<14xf32>) outs(%exp : tensor<14x33xf32>) {
  ^bb0(%s: f32, %e: f32):
    %q = arith.divf %e, %s : f32
    linalg.yield %q : f32
  } -> tensor<14x33xf32>
  func.return %y : tensor<14x33xf32>
}
