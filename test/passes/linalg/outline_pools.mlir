// RUN: lamina-opt %s -p linalg-outline-kernels{pools=true} | filecheck %s
// RUN: lamina-opt %s -p linalg-outline-kernels | filecheck %s --check-prefix=APART

#x = affine_map<(c, h, w, i, j) -> (c, h * 2 + i, w * 2 + j)>
#k = affine_map<(c, h, w, i, j) -> (i, j)>
#y = affine_map<(c, h, w, i, j) -> (c, h, w)>

// A pool and what is around its image are one kernel.
// CHECK-LABEL: func.func public @padded
// CHECK:       %[[Y:.*]] = func.call @kernel_0(%x,
// CHECK-NEXT:  func.return %[[Y]]
// CHECK:       func.func private @kernel_0
// CHECK-SAME:  lamina.kernel = "pool"
// CHECK:       tensor.pad
// CHECK:       linalg.generic
// APART:       lamina.kernel = "copy"
// APART:       lamina.kernel = "loops"
func.func public @padded(%x: tensor<8x13x13xf32>) -> tensor<8x7x7xf32> {
  %low = arith.constant 0xff800000 : f32
  %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %low : f32
  } : tensor<8x13x13xf32> to tensor<8x15x15xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<8x7x7xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<8x7x7xf32>) -> tensor<8x7x7xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %window : tensor<8x15x15xf32>, tensor<3x3xf32>) outs(%f : tensor<8x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<8x7x7xf32>
  func.return %y : tensor<8x7x7xf32>
}

// Without padding windows of 2 x 2 are not worth a row in between.
// CHECK:       func.func private @kernel_1
// CHECK-SAME:  lamina.kernel = "loops"
func.func public @small(%x: tensor<8x14x14xf32>) -> tensor<8x7x7xf32> {
  %low = arith.constant 0xff800000 : f32
  %window = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty() : tensor<8x7x7xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<8x7x7xf32>) -> tensor<8x7x7xf32>
  %y = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %window : tensor<8x14x14xf32>, tensor<2x2xf32>) outs(%f : tensor<8x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<8x7x7xf32>
  func.return %y : tensor<8x7x7xf32>
}
