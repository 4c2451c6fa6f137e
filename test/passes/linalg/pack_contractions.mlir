// RUN: lamina-opt %s -p linalg-pack-contractions | filecheck %s
// RUN: lamina-opt %s -p 'linalg-pack-contractions{lanes=8}' | filecheck %s --check-prefix LANES
// RUN: lamina-opt %s -p linalg-pack-contractions --machine x86-64-avx512 | filecheck %s --check-prefix LINES

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @matmul
// LANES-LABEL: func.func @matmul
// LINES-LABEL: func.func @matmul
func.func @matmul(%a: tensor<13x64xf32>, %c: tensor<13x100xf32>) -> tensor<13x100xf32> {
  %b = arith.constant dense_resource<w> : tensor<64x100xf32>
  // CHECK: %[[P:.*]] = linalg.pack %b padding_value(%{{.*}} : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [16] into %{{.*}} : tensor<64x100xf32> -> tensor<7x64x16xf32>
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> ((d1 floordiv 16), d2, (d1 mod 16))>
  // CHECK-SAME: ins(%a, %[[P]] :
  // LANES: inner_tiles = [8] into %{{.*}} : tensor<64x100xf32> -> tensor<13x64x8xf32>
  // LINES: inner_tiles = [16] into %{{.*}} : tensor<64x100xf32> -> tensor<7x64x16xf32>
  %y = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<13x64xf32>, tensor<64x100xf32>) outs(%c : tensor<13x100xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<13x100xf32>
  func.return %y : tensor<13x100xf32>
}

// The operand with the innermost loop of the result is packed, and comes second, whichever it was.
// CHECK-LABEL: func.func @swapped
func.func @swapped(%b: tensor<64x96xf32>, %a: tensor<13x64xf32>, %c: tensor<13x96xf32>) -> tensor<13x96xf32> {
  // CHECK: %[[P:.*]] = linalg.pack %b outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [16] into
  // CHECK: ins(%a, %[[P]] : tensor<13x64xf32>, tensor<6x64x16xf32>)
  %y = linalg.generic {indexing_maps = [#kn, #mk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%b, %a : tensor<64x96xf32>, tensor<13x64xf32>) outs(%c : tensor<13x96xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<13x96xf32>
  func.return %y : tensor<13x96xf32>
}

// One row: panels for a constant, none for a computed operand.
// CHECK-LABEL: func.func @one_row
func.func @one_row(%a: tensor<1x64xf32>, %x: tensor<128x64xf32>, %c: tensor<1x128xf32>) -> (tensor<1x128xf32>, tensor<1x128xf32>) {
  %b = arith.constant dense_resource<w> : tensor<128x64xf32>
  // CHECK: linalg.pack %b outer_dims_perm = [0, 1] inner_dims_pos = [0] inner_tiles = [16] into
  %y = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<1x64xf32>, tensor<128x64xf32>) outs(%c : tensor<1x128xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x128xf32>
  // CHECK-NOT: linalg.pack
  %z = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %x : tensor<1x64xf32>, tensor<128x64xf32>) outs(%c : tensor<1x128xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x128xf32>
  func.return %y, %z : tensor<1x128xf32>, tensor<1x128xf32>
}

// A convolution: taps and channels are the depth; unit dimensions of the weights are dropped. Three vectors of columns
// are three panels, side by side in one tile, rather than one and a half.
// CHECK-LABEL: func.func @pointwise
func.func @pointwise(%x: tensor<1x8x8x4xf32>, %w: tensor<1x1x4x24xf32>, %c: tensor<1x4x4x24xf32>) -> tensor<1x4x4x24xf32> {
  // CHECK: %[[W:.*]] = tensor.collapse_shape %w [{{.*}}] : tensor<1x1x4x24xf32> into tensor<4x24xf32>
  // CHECK: linalg.pack %[[W]] outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [8] into {{.*}} -> tensor<3x4x8xf32>
  // CHECK: affine_map<(d0, d1, d2, d3, d4) -> ((d3 floordiv 8), d4, (d3 mod 8))>
  %y = linalg.generic {indexing_maps = [affine_map<(n, h, w, f, c) -> (n, h * 2, w * 2, c)>, affine_map<(n, h, w, f, c) -> (0, 0, c, f)>, affine_map<(n, h, w, f, c) -> (n, h, w, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<1x8x8x4xf32>, tensor<1x1x4x24xf32>) outs(%c : tensor<1x4x4x24xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x4x24xf32>
  func.return %y : tensor<1x4x4x24xf32>
}

// Depthwise: no loop belongs to the weights alone, nothing to pack.
// CHECK-LABEL: func.func @depthwise
func.func @depthwise(%x: tensor<6x6x8xf32>, %w: tensor<3x3x8xf32>, %c: tensor<4x4x8xf32>) -> tensor<4x4x8xf32> {
  // CHECK-NOT: linalg.pack
  %y = linalg.generic {indexing_maps = [affine_map<(h, w, c, i, j) -> (h + i, w + j, c)>, affine_map<(h, w, c, i, j) -> (i, j, c)>, affine_map<(h, w, c, i, j) -> (h, w, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<6x6x8xf32>, tensor<3x3x8xf32>) outs(%c : tensor<4x4x8xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4x8xf32>
  func.return %y : tensor<4x4x8xf32>
}

// Integers of 16 bits: pairs along k lie together, the last one filled up.
// CHECK-LABEL: func.func @pairs
func.func @pairs(%a: tensor<13x33xi16>, %b: tensor<33x20xi16>, %c: tensor<13x20xi32>) -> tensor<13x20xi32> {
  // CHECK: linalg.pack %b padding_value({{.*}} : i16) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [16, 2] into {{.*}} : tensor<33x20xi16> -> tensor<2x17x16x2xi16>
  // CHECK: affine_map<(d0, d1, d2) -> ((d1 floordiv 16), (d2 floordiv 2), (d1 mod 16), (d2 mod 2))>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<13x33xi16>, tensor<33x20xi16>) outs(%c : tensor<13x20xi32>) {
  ^bb0(%l: i16, %r: i16, %o: i32):
    %u = arith.extsi %l : i16 to i32
    %v = arith.extsi %r : i16 to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  } -> tensor<13x20xi32>
  func.return %y : tensor<13x20xi32>
}

// Filters with the channels before the window: pairs of channels are the innermost all the same.
// CHECK-LABEL: func.func @pairs_of_channels
func.func @pairs_of_channels(%x: tensor<16x16x64xi16>, %f: tensor<32x64x3x3xi16>, %c: tensor<14x14x32xi32>) -> tensor<14x14x32xi32> {
  // CHECK: linalg.pack %f outer_dims_perm = [0, 2, 3, 1] inner_dims_pos = [0, 1] inner_tiles = [16, 2] into {{.*}} : tensor<32x64x3x3xi16> -> tensor<2x3x3x32x16x2xi16>
  %y = linalg.generic {indexing_maps = [affine_map<(h, w, o, i, j, c) -> (h + i, w + j, c)>, affine_map<(h, w, o, i, j, c) -> (o, c, i, j)>, affine_map<(h, w, o, i, j, c) -> (h, w, o)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %f : tensor<16x16x64xi16>, tensor<32x64x3x3xi16>) outs(%c : tensor<14x14x32xi32>) {
  ^bb0(%l: i16, %r: i16, %o: i32):
    %u = arith.extsi %l : i16 to i32
    %v = arith.extsi %r : i16 to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  } -> tensor<14x14x32xi32>
  func.return %y : tensor<14x14x32xi32>
}

// The left operand is not contiguous along k, and 32-bit products have no such instruction: both stay.
// CHECK-LABEL: func.func @not_in_groups
func.func @not_in_groups(%a: tensor<33x13xi16>, %b: tensor<33x20xi16>, %d: tensor<13x20xi32>, %c: tensor<13x20xi32>) -> tensor<13x20xi32> {
  // CHECK-NOT: linalg.pack
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<33x13xi16>, tensor<33x20xi16>) outs(%c : tensor<13x20xi32>) {
  ^bb0(%l: i16, %r: i16, %o: i32):
    %u = arith.extsi %l : i16 to i32
    %v = arith.extsi %r : i16 to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  } -> tensor<13x20xi32>
  func.return %y : tensor<13x20xi32>
}

// Bytes that become floats: panels of four vectors, a line of the cache where a vector is one.

// CHECK-LABEL: func.func @bytes_by_floats
// LANES-LABEL: func.func @bytes_by_floats
// LINES-LABEL: func.func @bytes_by_floats
// LINES: linalg.pack %w {{.*}} inner_tiles = [64] {{.*}} : tensor<64x128xi8> -> tensor<2x64x64xi8>
func.func @bytes_by_floats(%x: tensor<1x64xf32>, %c: tensor<1x128xf32>) -> tensor<1x128xf32> {
  %w = arith.constant dense<1> : tensor<64x128xi8>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<1x64xf32>, tensor<64x128xi8>) outs(%c : tensor<1x128xf32>) {
  ^bb0(%l: f32, %b: i8, %o: f32):
    %r = arith.sitofp %b : i8 to f32
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x128xf32>
  func.return %y : tensor<1x128xf32>
}
