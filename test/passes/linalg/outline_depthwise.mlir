// RUN: lamina-opt %s -p linalg-outline-kernels | filecheck %s

#x = affine_map<(n, c, h, w, i, j) -> (n, c, h + i, w + j)>
#k = affine_map<(n, c, h, w, i, j) -> (c, i, j)>
#y = affine_map<(n, c, h, w, i, j) -> (n, c, h, w)>
#id = affine_map<(n, c, h, w) -> (n, c, h, w)>

// The zeros around the image, the sums and what is done with them: one kernel.
// CHECK-LABEL: func.func public @main
// CHECK:       %[[Y:.*]] = func.call @kernel_0(%x, %k,
// CHECK-NEXT:  func.return %[[Y]]
// CHECK:       func.func private @kernel_0
// CHECK-SAME:  lamina.kernel = "depthwise"
// CHECK:       tensor.pad
// CHECK:       linalg.generic
// CHECK:       arith.maximumf
func.func public @main(%x: tensor<1x8x14x14xf32>, %k: tensor<8x3x3xf32>) -> tensor<1x8x14x14xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x8x14x14xf32> to tensor<1x8x16x16xf32>
  %e = tensor.empty() : tensor<1x8x14x14xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x14x14xf32>) -> tensor<1x8x14x14xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %k : tensor<1x8x16x16xf32>, tensor<8x3x3xf32>) outs(%f : tensor<1x8x14x14xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x8x14x14xf32>
  %d = tensor.empty() : tensor<1x8x14x14xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y : tensor<1x8x14x14xf32>) outs(%d : tensor<1x8x14x14xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x8x14x14xf32>
  func.return %r : tensor<1x8x14x14xf32>
}

#xl = affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>
#kl = affine_map<(n, h, w, c, i, j) -> (i, j, c)>

// So it is with channels last.
// CHECK:       func.func private @kernel_1
// CHECK-SAME:  lamina.kernel = "depthwise"
// CHECK:       tensor.pad
// CHECK:       linalg.generic
func.func public @last(%x: tensor<1x14x14x8xf32>, %k: tensor<3x3x8xf32>) -> tensor<1x14x14x8xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x14x14x8xf32> to tensor<1x16x16x8xf32>
  %e = tensor.empty() : tensor<1x14x14x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x14x14x8xf32>) -> tensor<1x14x14x8xf32>
  %y = linalg.generic {indexing_maps = [#xl, #kl, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %k : tensor<1x16x16x8xf32>, tensor<3x3x8xf32>) outs(%f : tensor<1x14x14x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x14x14x8xf32>
  func.return %y : tensor<1x14x14x8xf32>
}
