// RUN: lamina-opt %s -p linalg-outline-kernels | filecheck %s

// What is computed element by element to be padded is in the kernel that pads.
// CHECK-LABEL: func.func @padded
// CHECK: func.call @[[K:.*]](%x, %{{.*}}) : (tensor<2xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return
// CHECK: func.func private @[[K]]
// CHECK: math.exp
// CHECK: tensor.pad
func.func @padded(%x: tensor<2xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<2xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<2xf32>) outs(%t : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.exp %a : f32
    linalg.yield %b : f32
  } -> tensor<2xf32>
  %p = tensor.pad %e low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<2xf32> to tensor<4xf32>
  func.return %p : tensor<4xf32>
}
