// RUN: lamina-opt %s --machine x86-64-avx512 --split-input-file -p linalg-winograd | filecheck %s
// RUN: lamina-opt %s --machine x86-64 --split-input-file -p linalg-winograd | filecheck %s --check-prefix NEAR

#x = affine_map<(n, h, w, f, i, j, c) -> (n, h + i, w + j, c)>
#g = affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>
#y = affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>

// The only large filter is kept transformed, by the tiles with which it takes less, if the last cache holds it.
// NEAR-LABEL: func.func @alone
// NEAR: linalg.pack
// CHECK-LABEL: func.func @alone
// CHECK-NOT: linalg.pack
// CHECK: linalg.winograd_filter_transform fmr(F_2_3) ins(%{{.*}} : tensor<3x3x512x512xf32>) outs(%{{.*}} : tensor<4x4x512x512xf32>)
func.func @alone(%x: tensor<1x9x9x512xf32>, %zero: tensor<1x7x7x512xf32>) -> tensor<1x7x7x512xf32> {
  %g = arith.constant dense_resource<w> : tensor<3x3x512x512xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<1x9x9x512xf32>, tensor<3x3x512x512xf32>) outs(%zero : tensor<1x7x7x512xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x7x7x512xf32>
  func.return %r : tensor<1x7x7x512xf32>
}

// -----

#x = affine_map<(n, h, w, f, i, j, c) -> (n, h + i, w + j, c)>
#g = affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>
#y = affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>

// Beside weights that the last cache does not hold, it would come from memory each time.
// CHECK-LABEL: func.func @beside_others
// CHECK: linalg.pack
// CHECK: linalg.winograd_filter_transform fmr(F_4_3) ins(%{{.*}} : tensor<8x256x3x3x32xf32>)
func.func @beside_others(%x: tensor<1x16x16x256xf32>, %zero: tensor<1x14x14x256xf32>, %a: tensor<1x4096xf32>, %none: tensor<1x1025xf32>) -> (tensor<1x14x14x256xf32>, tensor<1x1025xf32>) {
  %g = arith.constant dense_resource<w> : tensor<3x3x256x256xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<1x16x16x256xf32>, tensor<3x3x256x256xf32>) outs(%zero : tensor<1x14x14x256xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x14x14x256xf32>
  %w = arith.constant dense_resource<w> : tensor<4096x1025xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<1x4096xf32>, tensor<4096x1025xf32>) outs(%none : tensor<1x1025xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x1025xf32>
  func.return %r, %q : tensor<1x14x14x256xf32>, tensor<1x1025xf32>
}

// -----

#x = affine_map<(n, h, w, f, i, j, c) -> (n, h + i, w + j, c)>
#g = affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>
#y = affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>

// A filter comes while products are computed: what it takes from memory does not add to them.
// CHECK-LABEL: func.func @comes_meanwhile
// CHECK: linalg.winograd_filter_transform fmr(F_4_3)
func.func @comes_meanwhile(%x: tensor<1x16x16x96xf32>, %zero: tensor<1x14x14x208xf32>) -> tensor<1x14x14x208xf32> {
  %g = arith.constant dense_resource<w> : tensor<3x3x96x208xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<1x16x16x96xf32>, tensor<3x3x96x208xf32>) outs(%zero : tensor<1x14x14x208xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x14x14x208xf32>
  func.return %r : tensor<1x14x14x208xf32>
}

// -----

#x = affine_map<(n, h, w, f, i, j, c) -> (n, h + i, w + j, c)>
#g = affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>
#y = affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>

// A filter of 37 MB would be one of 151: it is left as it is, though the panels read 14 MB of tiles each.
// CHECK-LABEL: func.func @huge
// CHECK: linalg.winograd_filter_transform fmr(F_4_3) ins(%{{.*}} : tensor<16x2048x3x3x32xf32>)
func.func @huge(%x: tensor<1x30x30x2048xf32>, %zero: tensor<1x28x28x512xf32>) -> tensor<1x28x28x512xf32> {
  %g = arith.constant dense_resource<w> : tensor<3x3x2048x512xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<1x30x30x2048xf32>, tensor<3x3x2048x512xf32>) outs(%zero : tensor<1x28x28x512xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x28x28x512xf32>
  func.return %r : tensor<1x28x28x512xf32>
}

// -----

#x = affine_map<(n, h, w, f, i, j, c) -> (n, h + i, w + j, c)>
#g = affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>
#y = affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>

// One of 9 MB, 38 transformed, is kept so where its tiles are as many: it is faster.
// CHECK-LABEL: func.func @many_tiles
// CHECK-NOT: linalg.pack
// CHECK: linalg.winograd_filter_transform fmr(F_4_3) ins(%{{.*}} : tensor<3x3x512x512xf32>)
func.func @many_tiles(%x: tensor<1x58x58x512xf32>, %zero: tensor<1x56x56x512xf32>) -> tensor<1x56x56x512xf32> {
  %g = arith.constant dense_resource<w> : tensor<3x3x512x512xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<1x58x58x512xf32>, tensor<3x3x512x512xf32>) outs(%zero : tensor<1x56x56x512xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x56x56x512xf32>
  func.return %r : tensor<1x56x56x512xf32>
}

// -----

#x = affine_map<(n, h, w, f, i, j, c) -> (n, h + i, w + j, c)>
#g = affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>
#y = affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>

// Seven megabytes more are a third of these weights: 128 tiles use a filter that is transformed on the way.
// CHECK-LABEL: func.func @grows
// CHECK: linalg.pack
// CHECK: linalg.winograd_filter_transform
func.func @grows(%x: tensor<8x16x16x256xf32>, %zero: tensor<8x14x14x256xf32>, %b: tensor<5000000xf32>) -> (tensor<8x14x14x256xf32>, tensor<5000000xf32>) {
  %g = arith.constant dense_resource<w> : tensor<3x3x256x256xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<8x16x16x256xf32>, tensor<3x3x256x256xf32>) outs(%zero : tensor<8x14x14x256xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x14x14x256xf32>
  %c = arith.constant dense_resource<w> : tensor<5000000xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]} ins(%c : tensor<5000000xf32>) outs(%b : tensor<5000000xf32>) {
  ^bb0(%l: f32, %o: f32):
    linalg.yield %l : f32
  } -> tensor<5000000xf32>
  func.return %r, %t : tensor<8x14x14x256xf32>, tensor<5000000xf32>
}

// -----

#x = affine_map<(n, h, w, f, i, j, c) -> (n, h + i, w + j, c)>
#g = affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>
#y = affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>

// ... a sixth of these.
// CHECK-LABEL: func.func @grows_little
// CHECK-NOT: linalg.pack
// CHECK: linalg.winograd_filter_transform
func.func @grows_little(%x: tensor<8x16x16x256xf32>, %zero: tensor<8x14x14x256xf32>, %b: tensor<10000000xf32>) -> (tensor<8x14x14x256xf32>, tensor<10000000xf32>) {
  %g = arith.constant dense_resource<w> : tensor<3x3x256x256xf32>
  %r = linalg.generic {indexing_maps = [#x, #g, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %g : tensor<8x16x16x256xf32>, tensor<3x3x256x256xf32>) outs(%zero : tensor<8x14x14x256xf32>) {
  ^bb0(%l: f32, %k: f32, %o: f32):
    %m = arith.mulf %l, %k : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x14x14x256xf32>
  %c = arith.constant dense_resource<w> : tensor<10000000xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]} ins(%c : tensor<10000000xf32>) outs(%b : tensor<10000000xf32>) {
  ^bb0(%l: f32, %o: f32):
    linalg.yield %l : f32
  } -> tensor<10000000xf32>
  func.return %r, %t : tensor<8x14x14x256xf32>, tensor<10000000xf32>
}
