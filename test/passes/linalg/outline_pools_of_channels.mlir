// RUN: lamina-opt %s -p linalg-outline-kernels{pools=true} | filecheck %s

// With channels last what is around the image is worth it alone.
// CHECK-LABEL: func.func public @channels
// CHECK:       %[[Y:.*]] = func.call @kernel_0(%x,
// CHECK-NEXT:  func.return %[[Y]]
// CHECK:       func.func private @kernel_0
// CHECK-SAME:  lamina.kernel = "pool"
// CHECK:       tensor.pad
func.func public @channels(%x: tensor<13x13x16xf32>) -> tensor<7x7x16xf32> {
  %low = arith.constant 0xff800000 : f32
  %p = tensor.pad %x low[1, 1, 0] high[1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %low : f32
  } : tensor<13x13x16xf32> to tensor<15x15x16xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<7x7x16xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<7x7x16xf32>) -> tensor<7x7x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(h, w, c, i, j) -> (h * 2 + i, w * 2 + j, c)>, affine_map<(h, w, c, i, j) -> (i, j)>, affine_map<(h, w, c, i, j) -> (h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%p, %window : tensor<15x15x16xf32>, tensor<3x3xf32>) outs(%f : tensor<7x7x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<7x7x16xf32>
  func.return %y : tensor<7x7x16xf32>
}
