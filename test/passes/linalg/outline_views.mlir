// RUN: lamina-opt %s -p linalg-outline-kernels{slices=true} --split-input-file | filecheck %s

// What goes over a slice element by element reads it where it lies, in each kernel.
// CHECK-LABEL: func.func public @read_in_place
// CHECK-NOT:     tensor.extract_slice
// CHECK:         func.call @kernel_0(%x,
// CHECK:         func.call @kernel_1(%x,
// CHECK:         func.return
// CHECK-LABEL: func.func private @kernel_0(%x: tensor<8x10xf32>
// CHECK-NEXT:    %[[S:.*]] = tensor.extract_slice %x[0, 0] [8, 3] [1, 1]
// CHECK-NEXT:    linalg.generic {{.*}} ins(%[[S]] : tensor<8x3xf32>)
// CHECK-LABEL: func.func private @kernel_1(%x: tensor<8x10xf32>
#id = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
func.func public @read_in_place(%x: tensor<8x10xf32>) -> (tensor<8x3xf32>, tensor<3x8xf32>) {
  %0 = tensor.extract_slice %x[0, 0] [8, 3] [1, 1] : tensor<8x10xf32> to tensor<8x3xf32>
  %e = tensor.empty() : tensor<8x3xf32>
  %f = tensor.empty() : tensor<3x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%0 : tensor<8x3xf32>) outs(%e : tensor<8x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = math.exp %a : f32
    linalg.yield %c : f32
  } -> tensor<8x3xf32>
  %2 = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel"]}
    ins(%0 : tensor<8x3xf32>) outs(%f : tensor<3x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = math.sqrt %a : f32
    linalg.yield %c : f32
  } -> tensor<3x8xf32>
  func.return %1, %2 : tensor<8x3xf32>, tensor<3x8xf32>
}

// -----

// The epilogue of a product takes whole arrays: the slice is made before.
// CHECK-LABEL: func.func public @of_an_epilogue
// CHECK:         %[[S:.*]] = func.call @kernel_0(%x,
// CHECK:         func.call @kernel_1({{.*}}%[[S]]
// CHECK:         func.return
// CHECK-LABEL: func.func private @kernel_0
// CHECK-NEXT:    tensor.extract_slice
// CHECK-LABEL: func.func private @kernel_1({{.*}}lamina.kernel = "contraction"
// CHECK-NOT:     tensor.extract_slice
// CHECK:         func.return
#id = affine_map<(i, j) -> (i, j)>
func.func public @of_an_epilogue(
  %x: tensor<8x40xf32>, %p: tensor<8x32xf32>, %q: tensor<32x32xf32>
) -> tensor<8x32xf32> {
  %0 = tensor.extract_slice %x[0, 0] [8, 32] [1, 1] : tensor<8x40xf32> to tensor<8x32xf32>
  %zero = arith.constant 0.0 : f32
  %d = tensor.empty() : tensor<8x32xf32>
  %e = tensor.empty() : tensor<8x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%d : tensor<8x32xf32>) -> tensor<8x32xf32>
  %1 = linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%p, %q : tensor<8x32xf32>, tensor<32x32xf32>) outs(%z : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<8x32xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%1, %0 : tensor<8x32xf32>, tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<8x32xf32>
  func.return %2 : tensor<8x32xf32>
}
