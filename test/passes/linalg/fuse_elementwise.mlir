// RUN: lamina-opt %s -p linalg-fuse-elementwise | filecheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A broadcast, an addition and an exponential become one generic; the constant becomes a scalar of its body.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<4x8xf32>, %bias: tensor<8xf32>) -> tensor<4x8xf32> {
  %two = arith.constant dense<2.0> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %b = linalg.generic {indexing_maps = [#col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%bias : tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b, %two : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %j: f32, %k: f32, %o: f32):
    %0 = arith.addf %i, %j : f32
    %1 = arith.mulf %0, %k : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.exp %i : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME: ins(%x, %bias : tensor<4x8xf32>, tensor<8xf32>)
// CHECK: arith.constant 2.000000e+00 : f32
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK: math.exp
// CHECK-NOT: linalg.generic
// CHECK: func.return

// The exponential of a row's maximum would be computed again for every column: it stays apart.
// CHECK-LABEL: func.func @expensive
func.func @expensive(%x: tensor<4x8xf32>, %m: tensor<4xf32>) -> tensor<4x8xf32> {
  %e1 = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%m : tensor<4xf32>) outs(%e1 : tensor<4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.exp %i : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %p : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: arith.mulf

// A contraction reads its left operand transposed in place, and writes its result in the order of its only reader,
// which disappears.
// CHECK-LABEL: func.func @transposes
func.func @transposes(%a: tensor<16x2x8xf32>, %b: tensor<2x8x32xf32>) -> tensor<16x2x32xf32> {
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<2x16x8xf32>
  %at = linalg.generic {indexing_maps = [affine_map<(h, m, k) -> (m, h, k)>, affine_map<(h, m, k) -> (h, m, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a : tensor<16x2x8xf32>) outs(%ea : tensor<2x16x8xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<2x16x8xf32>
  %ec = tensor.empty() : tensor<2x16x32xf32>
  %c0 = linalg.fill ins(%zero : f32) outs(%ec : tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, k, n)>, affine_map<(h, m, n, k) -> (h, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%at, %b : tensor<2x16x8xf32>, tensor<2x8x32xf32>) outs(%c0 : tensor<2x16x32xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x16x32xf32>
  %ey = tensor.empty() : tensor<16x2x32xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, h, n) -> (h, m, n)>, affine_map<(m, h, n) -> (m, h, n)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c : tensor<2x16x32xf32>) outs(%ey : tensor<16x2x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    linalg.yield %i : f32
  } -> tensor<16x2x32xf32>
  func.return %y : tensor<16x2x32xf32>
}
// CHECK: %[[FILL:.*]] = linalg.fill {{.*}} -> tensor<16x2x32xf32>
// CHECK-NEXT: %[[C:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>]
// CHECK-SAME: ins(%a, %b :
// CHECK: func.return %[[C]] : tensor<16x2x32xf32>

// The relu is the contraction's epilogue, so the pooling after it does not take it in.
// CHECK-LABEL: func.func @epilogue_stays
func.func @epilogue_stays(%a: tensor<16x8xf32>, %b: tensor<8x32xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %ec = tensor.empty() : tensor<16x32xf32>
  %c0 = linalg.fill ins(%zero : f32) outs(%ec : tensor<16x32xf32>) -> tensor<16x32xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<16x8xf32>, tensor<8x32xf32>) outs(%c0 : tensor<16x32xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x32xf32>
  %e = tensor.empty() : tensor<16x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<16x32xf32>) outs(%e : tensor<16x32xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.constant 0.0 : f32
    %1 = arith.maximumf %i, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x32xf32>
  %es = tensor.empty() : tensor<16xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%es : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%r : tensor<16x32xf32>) outs(%s0 : tensor<16xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  func.return %s : tensor<16xf32>
}
// CHECK: arith.mulf
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK: linalg.generic
// CHECK-NOT: arith.maximumf
// CHECK: arith.addf

// -----

// What reads a concatenation reads its parts; of a constant, the first part reads the beginning.
// CHECK-LABEL: func.func @parts
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%a, %{{.*}} : tensor<4x2xf32>, tensor<2xf32>)
// CHECK: %[[Q:.*]] = linalg.generic {indexing_maps = [{{.*}}, affine_map<(d0, d1) -> ((d1 + 2))>, {{.*}}ins(%b, %{{.*}} : tensor<4x3xf32>, tensor<5xf32>)
// CHECK: %[[C:.*]] = tensor.concat dim(1) %[[P]], %[[Q]]
// CHECK: func.return %[[C]]
func.func @parts(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>) -> tensor<4x5xf32> {
  %scale = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %c = tensor.concat dim(1) %a, %b : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
  %e = tensor.empty() : tensor<4x5xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%c, %scale : tensor<4x5xf32>, tensor<5xf32>) outs(%e : tensor<4x5xf32>) {
  ^bb0(%i: f32, %s: f32, %o: f32):
    %m = arith.mulf %i, %s : f32
    linalg.yield %m : f32
  } -> tensor<4x5xf32>
  func.return %y : tensor<4x5xf32>
}

// So is what narrows the sums of a depthwise convolution: the transpose moves bytes.
// CHECK-LABEL: func.func @depthwise_epilogue_stays
// CHECK: arith.muli
// CHECK: linalg.generic
// CHECK: arith.trunci
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<1x4x4x16xi8>) outs(%{{.*}} : tensor<1x16x4x4xi8>)
func.func @depthwise_epilogue_stays(%x: tensor<1x6x6x16xi16>, %k: tensor<3x3x1x16xi16>) -> tensor<1x16x4x4xi8> {
  %zero = arith.constant 0 : i32
  %es = tensor.empty() : tensor<1x4x4x16xi32>
  %s0 = linalg.fill ins(%zero : i32) outs(%es : tensor<1x4x4x16xi32>) -> tensor<1x4x4x16xi32>
  %s = linalg.generic {indexing_maps = [affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>, affine_map<(n, h, w, c, i, j) -> (i, j, 0, c)>, affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %k : tensor<1x6x6x16xi16>, tensor<3x3x1x16xi16>) outs(%s0 : tensor<1x4x4x16xi32>) {
  ^bb0(%a: i16, %b: i16, %o: i32):
    %0 = arith.extsi %a : i16 to i32
    %1 = arith.extsi %b : i16 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %o, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<1x4x4x16xi32>
  %en = tensor.empty() : tensor<1x4x4x16xi8>
  %n = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x4x4x16xi32>) outs(%en : tensor<1x4x4x16xi8>) {
  ^bb0(%a: i32, %o: i8):
    %0 = arith.trunci %a : i32 to i8
    linalg.yield %0 : i8
  } -> tensor<1x4x4x16xi8>
  %et = tensor.empty() : tensor<1x16x4x4xi8>
  %t = linalg.generic {indexing_maps = [affine_map<(n, c, h, w) -> (n, h, w, c)>, affine_map<(n, c, h, w) -> (n, c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%n : tensor<1x4x4x16xi8>) outs(%et : tensor<1x16x4x4xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  } -> tensor<1x16x4x4xi8>
  func.return %t : tensor<1x16x4x4xi8>
}

// What a norm takes off its row is computed twice instead of lying in memory: %x is read by the mean as well.
// CHECK-LABEL: func.func @differences
func.func @differences(%x: tensor<4x8xf32>, %m: tensor<4xf32>, %sum: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  // CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%x : tensor<4x8xf32>)
  %mean = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%m : tensor<4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mean : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.subf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  // CHECK: %[[SQUARES:.*]] = linalg.generic {{.*}} ins(%x, %[[MEAN]] : tensor<4x8xf32>, tensor<4xf32>) outs(%sum
  // CHECK: arith.subf
  // CHECK: arith.mulf
  %squares = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%d : tensor<4x8xf32>) outs(%sum : tensor<4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.mulf %i, %i : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  // CHECK: linalg.generic {{.*}} ins(%[[SQUARES]], %x, %[[MEAN]]
  // CHECK: arith.subf
  // CHECK: arith.divf
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%d, %squares : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.divf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  func.return %mean, %squares, %y : tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>
}

// A source that nobody else reads is not kept for that: its reader takes it in, here what a pool is multiplied by.
// CHECK-LABEL: func.func @mean_of_windows
func.func @mean_of_windows(%x: tensor<8x4xf32>, %s: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x4xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.addf %o, %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%x
  // CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUM]]
  // CHECK: arith.mulf
  // CHECK-NOT: arith.mulf
  %quarter = arith.constant dense<0.25> : tensor<8xf32>
  %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum, %quarter : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %0 = arith.mulf %i, %j : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  // CHECK: ins(%[[MEAN]]
  // CHECK: ins(%[[MEAN]]
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%mean : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.exp %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%mean : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = math.log %i : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// What reads one row of what a contraction computes goes on reading that row.
// CHECK-LABEL: func.func @one_row
// CHECK: "reduction"
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ((d0 + 1), d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME: outs(%{{.*}} : tensor<1x5xf32>)
func.func @one_row(%x: tensor<3x8xf32>, %w: tensor<8x5xf32>) -> tensor<1x5xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x5xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x5xf32>) -> tensor<3x5xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<3x8xf32>, tensor<8x5xf32>) outs(%f : tensor<3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<3x5xf32>
  %r = tensor.empty() : tensor<1x5xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + 1, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<3x5xf32>) outs(%r : tensor<1x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.tanh %a : f32
    linalg.yield %u : f32
  } -> tensor<1x5xf32>
  func.return %t : tensor<1x5xf32>
}

// The same through a view of rows, as a slice of the hub is read.
// CHECK-LABEL: func.func @row_of_view
// CHECK: "reduction"
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (1, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME: outs(%{{.*}} : tensor<1x5xf32>)
func.func @row_of_view(%x: tensor<3x8xf32>, %w: tensor<8x5xf32>) -> tensor<1x5xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x5xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x5xf32>) -> tensor<3x5xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<3x8xf32>, tensor<8x5xf32>) outs(%f : tensor<3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<3x5xf32>
  %v = tensor.expand_shape %c [[0, 1], [2]] output_shape [3, 1, 5] : tensor<3x5xf32> into tensor<3x1x5xf32>
  %r = tensor.empty() : tensor<1x5xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (1, d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<3x1x5xf32>) outs(%r : tensor<1x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %u = math.tanh %a : f32
    linalg.yield %u : f32
  } -> tensor<1x5xf32>
  func.return %t : tensor<1x5xf32>
}

// A product reads bytes and makes floats of them itself; of other integers it does not.

// CHECK-LABEL: func.func @bytes
// CHECK-NOT:     arith.sitofp
// CHECK:         linalg.generic {{.*}} ins(%x, %w : tensor<1x64xf32>, tensor<64x8xi8>)
// CHECK-NEXT:    ^bb0(%{{.*}}: f32, %{{.*}}: i8, %{{.*}}: f32):
// CHECK-NEXT:      arith.sitofp %{{.*}} : i8 to f32
// CHECK-NEXT:      arith.mulf
func.func @bytes(%x: tensor<1x64xf32>, %w: tensor<64x8xi8>, %c: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %e = tensor.empty() : tensor<64x8xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(k, n) -> (k, n)>, affine_map<(k, n) -> (k, n)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<64x8xi8>) outs(%e : tensor<64x8xf32>) {
  ^bb0(%b: i8, %o: f32):
    %r = arith.sitofp %b : i8 to f32
    linalg.yield %r : f32
  } -> tensor<64x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %f : tensor<1x64xf32>, tensor<64x8xf32>) outs(%c : tensor<1x8xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x8xf32>
  func.return %y : tensor<1x8xf32>
}

// CHECK-LABEL: func.func @shorts
// CHECK:         arith.sitofp %{{.*}} : i16 to f32
// CHECK:         linalg.generic {{.*}} ins(%x, %{{.*}} : tensor<1x64xf32>, tensor<64x8xf32>)
func.func @shorts(%x: tensor<1x64xf32>, %w: tensor<64x8xi16>, %c: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %e = tensor.empty() : tensor<64x8xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(k, n) -> (k, n)>, affine_map<(k, n) -> (k, n)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<64x8xi16>) outs(%e : tensor<64x8xf32>) {
  ^bb0(%b: i16, %o: f32):
    %r = arith.sitofp %b : i16 to f32
    linalg.yield %r : f32
  } -> tensor<64x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %f : tensor<1x64xf32>, tensor<64x8xf32>) outs(%c : tensor<1x8xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x8xf32>
  func.return %y : tensor<1x8xf32>
}
