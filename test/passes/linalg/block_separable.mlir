// RUN: lamina-opt %s -p linalg-block-separable --machine x86-64-avx2 | filecheck %s
// RUN: lamina-opt %s -p linalg-block-separable{rows=3} --machine x86-64-avx2 | filecheck %s --check-prefix THREE
// RUN: lamina-opt %s -p linalg-block-separable{rows=3},linalg-outline-kernels --machine x86-64-avx2 | filecheck %s --check-prefix KERNELS
// RUN: lamina-opt %s -p linalg-block-separable{rows=0} --machine x86-64-avx2 | filecheck %s --check-prefix NONE
// NONE-NOT: lamina.block_rows

#x = affine_map<(n, h, w, f, c) -> (n, h, w, c)>
#w = affine_map<(n, h, w, f, c) -> (f floordiv 16, c, f mod 16)>
#y = affine_map<(n, h, w, f, c) -> (n, h, w, f)>
#image = affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>
#taps = affine_map<(n, h, w, c, i, j) -> (i, j, c)>
#sums = affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>
#id = affine_map<(n, h, w, c) -> (n, h, w, c)>
#turned = affine_map<(n, h, w, c) -> (n, h, c, w)>
#channel = affine_map<(n, h, w, c) -> (c)>

// The widened image of 0.6 MB does not fit the cache: blocks of 14 rows do, and of what comes before a seventh is done
// twice. What is first does not go on from anything.
// CHECK-LABEL: func.func public @large
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]{{.*}} attrs = {lamina.block_rows = 14 : i64} {
// CHECK: linalg.generic
// CHECK-NOT: lamina.block_rows
// CHECK: tensor.pad
// CHECK: } {lamina.block_rows = 14 : i64, lamina.goes_on} : tensor<1x56x56x48xf32>
// CHECK: linalg.generic {{.*}}"reduction", "reduction"]{{.*}} attrs = {lamina.block_rows = 14 : i64, lamina.goes_on} {
// CHECK: linalg.generic {{.*}} attrs = {lamina.block_rows = 14 : i64, lamina.goes_on} {
// THREE-LABEL: func.func public @large
// THREE: lamina.block_rows = 3
// KERNELS-LABEL: func.func public @large
// KERNELS: %[[Y:.*]] = func.call @kernel_0
// KERNELS-NOT: func.call
// KERNELS: func.return %[[Y]]
func.func public @large(%x: tensor<1x56x56x16xf32>) -> tensor<1x56x56x16xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<0.5> : tensor<3x16x16xf32>
  %k = arith.constant dense<0.25> : tensor<3x3x48xf32>
  %v = arith.constant dense<0.125> : tensor<1x48x16xf32>
  %wide = tensor.empty() : tensor<1x56x56x48xf32>
  %narrow = tensor.empty() : tensor<1x56x56x16xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%wide : tensor<1x56x56x48xf32>) -> tensor<1x56x56x48xf32>
  %1 = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<1x56x56x16xf32>, tensor<3x16x16xf32>) outs(%0 : tensor<1x56x56x48xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x56x56x48xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%1 : tensor<1x56x56x48xf32>) outs(%wide : tensor<1x56x56x48xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x56x56x48xf32>
  %3 = tensor.pad %2 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %q: index, %t: index):
    tensor.yield %zero : f32
  } : tensor<1x56x56x48xf32> to tensor<1x58x58x48xf32>
  %4 = linalg.generic {indexing_maps = [#image, #taps, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%3, %k : tensor<1x58x58x48xf32>, tensor<3x3x48xf32>) outs(%0 : tensor<1x56x56x48xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x56x56x48xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%narrow : tensor<1x56x56x16xf32>) -> tensor<1x56x56x16xf32>
  %6 = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%4, %v : tensor<1x56x56x48xf32>, tensor<1x48x16xf32>) outs(%5 : tensor<1x56x56x16xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x56x56x16xf32>
  func.return %6 : tensor<1x56x56x16xf32>
}

// A small image lies in the cache as it is. What is added across rows stays a kernel of its own, and the convolution
// still reads its image without the zeros: they are in its kernel alone.
// CHECK-LABEL: func.func public @small
// CHECK-NOT: lamina.block_rows
// KERNELS-LABEL: func.func public @small
// KERNELS: func.call @kernel_1
// KERNELS: func.call @kernel_2
// KERNELS: func.call @kernel_3
// KERNELS: func.func private @kernel_0({{.*}} attributes {lamina.kernel = "separable"}
// KERNELS: func.func private @kernel_1({{.*}} attributes {lamina.kernel = "contraction"}
// KERNELS: func.func private @kernel_2({{.*}} attributes {lamina.kernel = "loops"}
// KERNELS: func.func private @kernel_3({{.*}} attributes {lamina.kernel = "depthwise"}
// KERNELS-NEXT: arith.constant
// KERNELS-NEXT: tensor.pad
func.func public @small(%x: tensor<1x8x8x16xf32>, %across: tensor<1x8x16x8xf32>) -> tensor<1x8x8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<0.5> : tensor<1x16x16xf32>
  %k = arith.constant dense<0.25> : tensor<3x3x16xf32>
  %e = tensor.empty() : tensor<1x8x8x16xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  %1 = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<1x8x8x16xf32>, tensor<1x16x16xf32>) outs(%0 : tensor<1x8x8x16xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x8x8x16xf32>
  %2 = linalg.generic {indexing_maps = [#id, #turned, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%1, %across : tensor<1x8x8x16xf32>, tensor<1x8x16x8xf32>) outs(%e : tensor<1x8x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.addf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<1x8x8x16xf32>
  %3 = tensor.pad %2 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %q: index, %t: index):
    tensor.yield %zero : f32
  } : tensor<1x8x8x16xf32> to tensor<1x10x10x16xf32>
  %4 = linalg.generic {indexing_maps = [#image, #taps, #sums], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%3, %k : tensor<1x10x10x16xf32>, tensor<3x3x16xf32>) outs(%0 : tensor<1x8x8x16xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x8x8x16xf32>
  func.return %4 : tensor<1x8x8x16xf32>
}
