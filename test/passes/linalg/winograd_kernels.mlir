// RUN: lamina-opt %s --split-input-file --machine x86-64-avx2 -p 'linalg-winograd{tile=4},linalg-pack-contractions,linalg-fold-constants,linalg-outline-kernels' | filecheck %s

#x = affine_map<(n, h, w, f, i, j, c) -> (n, h + i, w + j, c)>
#g = affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>
#y = affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>
#id = affine_map<(n, h, w, f) -> (n, h, w, f)>

// Little lies between the transforms: three kernels, the activation in the last. The packed filter is a constant.
// CHECK-LABEL: func.func public @main
// CHECK: %[[V:.*]] = func.call @kernel_0(%x,
// CHECK: %[[U:.*]] = arith.constant dense_resource<{{.*}}> : tensor<6x6x4x64x16xf32>
// CHECK: %[[M:.*]] = func.call @kernel_1(%[[V]], %[[U]],
// CHECK: func.call @kernel_2(%[[M]],
// CHECK: func.func private @kernel_0
// CHECK-SAME: lamina.kernel = "winograd"
// CHECK: func.func private @kernel_1
// CHECK-SAME: lamina.kernel = "contraction"
// CHECK: func.func private @kernel_2
// CHECK-SAME: lamina.kernel = "winograd"
// CHECK: linalg.winograd_output_transform
// CHECK: arith.maximumf
func.func public @main(%x: tensor<1x12x12x64xf32>) -> tensor<1x10x10x64xf32> {
  %zero = arith.constant 0.0 : f32
  %g = arith.constant dense<1.0> : tensor<3x3x64x64xf32>
  %b = tensor.empty() : tensor<1x10x10x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%b : tensor<1x10x10x64xf32>) -> tensor<1x10x10x64xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<1x12x12x64xf32>, tensor<3x3x64x64xf32>) outs(%z : tensor<1x10x10x64xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x10x10x64xf32>
  %d = tensor.empty() : tensor<1x10x10x64xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%r : tensor<1x10x10x64xf32>) outs(%d : tensor<1x10x10x64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %e = arith.maximumf %v, %zero : f32
    linalg.yield %e : f32
  } -> tensor<1x10x10x64xf32>
  func.return %a : tensor<1x10x10x64xf32>
}

// -----

#x = affine_map<(n, h, w, f, i, j, c) -> (n, h + i, w + j, c)>
#g = affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>
#y = affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>
#id = affine_map<(n, h, w, f) -> (n, h, w, f)>

// More than the caches near a core hold: one kernel, which takes some rows of tiles at a time through all of it.
// CHECK-LABEL: func.func public @main
// CHECK: %[[U:.*]] = arith.constant dense_resource<{{.*}}> : tensor<6x6x4x64x16xf32>
// CHECK: func.call @kernel_0(%x, %[[U]],
// CHECK-NOT: func.call
// CHECK: func.func private @kernel_0
// CHECK-SAME: lamina.kernel = "winograd"
// CHECK: linalg.winograd_input_transform
// CHECK: linalg.generic
// CHECK: lamina.block_rows
// CHECK: linalg.winograd_output_transform
// CHECK: arith.maximumf
func.func public @main(%x: tensor<1x130x130x64xf32>) -> tensor<1x128x128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %g = arith.constant dense<1.0> : tensor<3x3x64x64xf32>
  %b = tensor.empty() : tensor<1x128x128x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%b : tensor<1x128x128x64xf32>) -> tensor<1x128x128x64xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<1x130x130x64xf32>, tensor<3x3x64x64xf32>) outs(%z : tensor<1x128x128x64xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x128x128x64xf32>
  %d = tensor.empty() : tensor<1x128x128x64xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%r : tensor<1x128x128x64xf32>) outs(%d : tensor<1x128x128x64xf32>) {
  ^bb0(%v: f32, %o: f32):
    %e = arith.maximumf %v, %zero : f32
    linalg.yield %e : f32
  } -> tensor<1x128x128x64xf32>
  func.return %a : tensor<1x128x128x64xf32>
}
