// RUN: lamina-opt %s -p linalg-winograd | filecheck %s
// RUN: lamina-opt %s --machine x86-64-avx512 -p linalg-winograd | filecheck %s --check-prefix WIDE
// RUN: lamina-opt %s -p 'linalg-winograd{tile=2}' | filecheck %s --check-prefix FORCED
// RUN: lamina-opt %s -p 'linalg-winograd{tile=0}' | filecheck %s --check-prefix NONE
// RUN: lamina-opt %s -p 'linalg-winograd{kept=100000000}' | filecheck %s --check-prefix KEPT

#x = affine_map<(n, h, w, f, i, j, c) -> (n, h + i, w + j, c)>
#g = affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>
#y = affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>
#strided = affine_map<(n, h, w, f, i, j, c) -> (n, h * 2 + i, w * 2 + j, c)>

// NONE-NOT: winograd

// The padding becomes the input transform's; as much of the last tiles as the output holds is written.
// CHECK-LABEL: func.func @pays
// CHECK-NOT: tensor.pad
// CHECK: %[[G:.*]] = arith.constant dense
// CHECK: %[[V:.*]] = linalg.winograd_input_transform {pad = array<i64: 1, 1>} fmr(F_4_3) ins(%x : tensor<1x55x56x64xf32>) outs(%{{.*}} : tensor<6x6x14x14x1x64xf32>)
// CHECK: %[[U:.*]] = linalg.winograd_filter_transform fmr(F_4_3) ins(%[[G]] : tensor<3x3x64x64xf32>) outs(%{{.*}} : tensor<6x6x64x64xf32>)
// CHECK: %[[M:.*]] = linalg.generic
// CHECK-SAME: affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4, d6)>
// CHECK-SAME: affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d6, d5)>
// CHECK-SAME: affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4, d5)>
// CHECK-SAME: ins(%[[V]], %[[U]]
// CHECK: linalg.winograd_output_transform fmr(F_4_3) ins(%[[M]] : tensor<6x6x14x14x1x64xf32>) outs(%zero : tensor<1x55x56x64xf32>)
// FORCED-LABEL: func.func @pays
// FORCED: fmr(F_2_3)
func.func @pays(%x: tensor<1x55x56x64xf32>, %zero: tensor<1x55x56x64xf32>) -> tensor<1x55x56x64xf32> {
  %g = arith.constant dense_resource<w> : tensor<3x3x64x64xf32>
  %none = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %none : f32
  } : tensor<1x55x56x64xf32> to tensor<1x57x58x64xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %g : tensor<1x57x58x64xf32>, tensor<3x3x64x64xf32>) outs(%zero : tensor<1x55x56x64xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x55x56x64xf32>
  func.return %r : tensor<1x55x56x64xf32>
}

// Too few channels: the transforms cost more than the multiplications they save. It is possible, though; what the input
// is padded with is not zero, so that the padded copy stays.
// CHECK-LABEL: func.func @does_not_pay
// CHECK-NOT: winograd
// FORCED-LABEL: func.func @does_not_pay
// FORCED: %[[P:.*]] = tensor.pad
// FORCED: linalg.winograd_input_transform fmr(F_2_3) ins(%[[P]] : tensor<1x10x10x3xf32>)
func.func @does_not_pay(%x: tensor<1x9x9x3xf32>, %zero: tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
  %g = arith.constant dense<1.0> : tensor<3x3x3x8xf32>
  %one = arith.constant 1.0 : f32
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 0, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %one : f32
  } : tensor<1x9x9x3xf32> to tensor<1x10x10x3xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %g : tensor<1x10x10x3xf32>, tensor<3x3x3x8xf32>) outs(%zero : tensor<1x8x8x8xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x8x8x8xf32>
  func.return %r : tensor<1x8x8x8xf32>
}

// A stride of 2, and a filter known at run time only: not possible.
// CHECK-LABEL: func.func @not_possible
// CHECK-NOT: winograd
// FORCED-LABEL: func.func @not_possible
// FORCED-NOT: winograd
func.func @not_possible(%x: tensor<1x57x57x64xf32>, %g: tensor<3x3x64x64xf32>, %zero: tensor<1x28x28x64xf32>, %wide: tensor<1x55x55x64xf32>) -> (tensor<1x28x28x64xf32>, tensor<1x55x55x64xf32>) {
  %constant = arith.constant dense_resource<w> : tensor<3x3x64x64xf32>
  %r = linalg.generic {indexing_maps = [#strided, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %constant : tensor<1x57x57x64xf32>, tensor<3x3x64x64xf32>) outs(%zero : tensor<1x28x28x64xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x28x28x64xf32>
  %t = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<1x57x57x64xf32>, tensor<3x3x64x64xf32>) outs(%wide : tensor<1x55x55x64xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x55x55x64xf32>
  func.return %r, %t : tensor<1x28x28x64xf32>, tensor<1x55x55x64xf32>
}

// A large filter stays as it is, in panels, and is transformed when the convolution runs, unless there is room for all.
// KEPT-LABEL: func.func @large
// KEPT-NOT: linalg.pack
// KEPT: linalg.winograd_filter_transform fmr(F_4_3) ins(%{{.*}} : tensor<3x3x256x256xf32>) outs(%{{.*}} : tensor<6x6x256x256xf32>)
// FORCED-LABEL: func.func @large
// CHECK-LABEL: func.func @large
// CHECK: %[[P:.*]] = linalg.pack %{{.*}} outer_dims_perm = [3, 2, 0, 1] inner_dims_pos = [3] inner_tiles = [16]
// CHECK: linalg.winograd_filter_transform fmr(F_4_3) ins(%[[P]] : tensor<16x256x3x3x16xf32>) outs(%{{.*}} : tensor<6x6x16x256x16xf32>)
// CHECK: linalg.generic
// CHECK-SAME: affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, (d5 floordiv 16), d6, (d5 mod 16))>
func.func @large(%x: tensor<1x16x16x256xf32>, %zero: tensor<1x14x14x256xf32>) -> tensor<1x14x14x256xf32> {
  %g = arith.constant dense_resource<w> : tensor<3x3x256x256xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<1x16x16x256xf32>, tensor<3x3x256x256xf32>) outs(%zero : tensor<1x14x14x256xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x14x14x256xf32>
  func.return %r : tensor<1x14x14x256xf32>
}

// Of more tiles it does not.
// FORCED-LABEL: func.func @large_of_many_tiles
// CHECK-LABEL: func.func @large_of_many_tiles
// CHECK: linalg.winograd_filter_transform fmr(F_4_3) ins(%{{.*}} : tensor<3x3x256x256xf32>) outs(%{{.*}} : tensor<6x6x256x256xf32>)
func.func @large_of_many_tiles(%x: tensor<1x58x58x256xf32>, %zero: tensor<1x56x56x256xf32>) -> tensor<1x56x56x256xf32> {
  %g = arith.constant dense_resource<w> : tensor<3x3x256x256xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<1x58x58x256xf32>, tensor<3x3x256x256xf32>) outs(%zero : tensor<1x56x56x256xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x56x56x256xf32>
  func.return %r : tensor<1x56x56x256xf32>
}

// Of very few, only where vectors are narrow: wide ones multiply faster, and the filter is transformed no faster.
// FORCED-LABEL: func.func @large_of_few_tiles
// CHECK-LABEL: func.func @large_of_few_tiles
// CHECK: linalg.winograd_filter_transform fmr(F_4_3)
// WIDE-LABEL: func.func @large_of_few_tiles
// WIDE-NOT: winograd
func.func @large_of_few_tiles(%x: tensor<1x9x9x512xf32>, %zero: tensor<1x7x7x512xf32>) -> tensor<1x7x7x512xf32> {
  %g = arith.constant dense_resource<w> : tensor<3x3x512x512xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<1x9x9x512xf32>, tensor<3x3x512x512xf32>) outs(%zero : tensor<1x7x7x512xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x7x7x512xf32>
  func.return %r : tensor<1x7x7x512xf32>
}

// One filter's sums over channels share nothing of what the input's transform makes.
// FORCED-LABEL: func.func @one_filter
// FORCED-NOT: winograd
// FORCED: return
// CHECK-LABEL: func.func @one_filter
// CHECK-NOT: winograd
// CHECK: return
func.func @one_filter(%x: tensor<1x42x42x256xf32>, %zero: tensor<1x40x40x1xf32>) -> tensor<1x40x40x1xf32> {
  %g = arith.constant dense_resource<w> : tensor<3x3x256x1xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<1x42x42x256xf32>, tensor<3x3x256x1xf32>) outs(%zero : tensor<1x40x40x1xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x40x40x1xf32>
  func.return %r : tensor<1x40x40x1xf32>
}
