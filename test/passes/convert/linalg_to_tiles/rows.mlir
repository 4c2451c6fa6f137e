// RUN: lamina-opt %s -p convert-linalg-to-tiles | filecheck %s

// What is kept between the loops is never written; each row is read once and written once.
// CHECK-LABEL: func.func private @rows
// CHECK-SAME: lamina.kernel = "rows"
// CHECK: affine.parallel (%[[I:.*]]) = (0) to (37) {
// CHECK-NEXT: %[[X:.*]] = affine.vector_load %x[%[[I]], 0, 0] : memref<37x2x96xf32>, vector<192xf32>
// CHECK-NEXT: %[[S:.*]] = vector.reduction <add>, %[[X]] fastmath<nnan> : vector<192xf32> into f32
// CHECK-NEXT: %[[T:.*]] = arith.addf %{{.*}}, %[[S]] fastmath<nnan> : f32
// CHECK-NEXT: %[[G:.*]] = affine.vector_load %g[0, 0] : memref<2x96xf32>, vector<192xf32>
// CHECK-NEXT: %[[B:.*]] = vector.broadcast %[[T]] : f32 to vector<192xf32>
// CHECK-NEXT: arith.subf %[[X]], %[[B]] : vector<192xf32>
// CHECK: affine.vector_store %{{.*}}, %y[%[[I]], 0, 0] : memref<37x2x96xf32>, vector<192xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return
func.func private @rows(%x: memref<37x2x96xf32>, %g: memref<2x96xf32>, %y: memref<37x2x96xf32>, %sum: memref<37xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : memref<37xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>], iterator_types = ["parallel", "reduction", "reduction"]}
    ins(%x : memref<37x2x96xf32>) outs(%sum : memref<37xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a fastmath<nnan> : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x, %sum, %g : memref<37x2x96xf32>, memref<37xf32>, memref<2x96xf32>) outs(%y : memref<37x2x96xf32>) {
  ^bb0(%a: f32, %m: f32, %w: f32, %old: f32):
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %w : f32
    linalg.yield %p : f32
  }
  func.return
}

// Rows may share what they read: a mask of all four heads, and the second of three slices. What lies elsewhere than a
// row's own part is another vector.
// CHECK-LABEL: func.func private @shared
// CHECK-SAME: lamina.kernel = "rows"
// CHECK: affine.parallel (%[[B:.*]], %[[H:.*]], %[[I:.*]]) = (0, 0, 0) to (2, 4, 9) {
// CHECK-NEXT: %[[X:.*]] = affine.vector_load %x[%[[B]], %[[H]], %[[I]], 0] : memref<2x4x9x16xf32>, vector<16xf32>
// CHECK-NEXT: %[[M:.*]] = affine.vector_load %m[%[[B]], 0, %[[I]], 0] : memref<2x1x9x16xf32>, vector<16xf32>
// CHECK-NEXT: %[[P:.*]] = affine.load %p[%[[I]], 1, %[[B]]] : memref<9x3x2xf32>
// CHECK: vector.reduction <maximumf>
// CHECK: affine.vector_store %{{.*}}, %y[%[[B]], %[[H]], %[[I]], 0] : memref<2x4x9x16xf32>, vector<16xf32>
func.func private @shared(%x: memref<2x4x9x16xf32>, %m: memref<2x1x9x16xf32>, %p: memref<9x3x2xf32>, %y: memref<2x4x9x16xf32>, %top: memref<2x4x9xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  %low = arith.constant 0xFF800000 : f32
  linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, 0, i, j)>, affine_map<(b, h, i, j) -> (i, 1, b)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%x, %m, %p : memref<2x4x9x16xf32>, memref<2x1x9x16xf32>, memref<9x3x2xf32>) outs(%y : memref<2x4x9x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %old: f32):
    %s = arith.addf %a, %b : f32
    %t = arith.mulf %s, %c : f32
    linalg.yield %t : f32
  }
  linalg.fill ins(%low : f32) outs(%top : memref<2x4x9xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%y : memref<2x4x9x16xf32>) outs(%top : memref<2x4x9xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.maximumf %acc, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i)>, affine_map<(b, h, i, j) -> (b, h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%y, %top : memref<2x4x9x16xf32>, memref<2x4x9xf32>) outs(%y : memref<2x4x9x16xf32>) {
  ^bb0(%a: f32, %m1: f32, %old: f32):
    %d = arith.subf %a, %m1 : f32
    linalg.yield %d : f32
  }
  func.return
}

// Rows that read what other rows write have an order.
// CHECK-LABEL: func.func private @ordered
// CHECK: linalg.generic
func.func private @ordered(%x: memref<4x9x16xf32>, %y: memref<4x9x16xf32>, %top: memref<4x9xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (h, i, j)>, affine_map<(h, i, j) -> (h, i)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x : memref<4x9x16xf32>) outs(%top : memref<4x9xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (h, i, j)>, affine_map<(h, i, j) -> (0, i)>, affine_map<(h, i, j) -> (h, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x, %top : memref<4x9x16xf32>, memref<4x9xf32>) outs(%y : memref<4x9x16xf32>) {
  ^bb0(%a: f32, %m: f32, %old: f32):
    %d = arith.subf %a, %m : f32
    linalg.yield %d : f32
  }
  func.return
}

// Rows whose numbers lie apart, where they are gone through more than once.
// CHECK-LABEL: func.func private @columns_twice
// CHECK-SAME: lamina.kernel = "rows"
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %x
// CHECK: affine.parallel (%[[B:.*]], %[[C:.*]]) = (0, 0) to (2, 16) {
// CHECK: %[[AT:.*]] = affine.apply affine_map<(d0, d1) -> (((d0 * 400) + d1))> (%[[B]], %[[C]])
// CHECK-NEXT: %[[LANES:.*]] = vector.step : vector<25xindex>
// CHECK-NEXT: %[[STEP:.*]] = arith.constant dense<16> : vector<25xindex>
// CHECK-NEXT: %[[OTHERS:.*]] = arith.muli %[[LANES]], %[[STEP]] : vector<25xindex>
// CHECK-NEXT: %[[ALL:.*]] = vector.constant_mask
// CHECK-NEXT: %[[X:.*]] = vector.gather %[[FLAT]][%[[AT]]] [%[[OTHERS]]], %[[ALL]], %{{.*}} : memref<800xf32>, vector<25xindex>
// CHECK-NEXT: vector.reduction <add>, %[[X]] : vector<25xf32> into f32
// CHECK: vector.scatter
func.func private @columns_twice(%x: memref<2x25x16xf32>, %y: memref<2x25x16xf32>, %sum: memref<2x16xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : memref<2x16xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, i, c) -> (b, i, c)>, affine_map<(b, i, c) -> (b, c)>], iterator_types = ["parallel", "reduction", "parallel"]}
    ins(%x : memref<2x25x16xf32>) outs(%sum : memref<2x16xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(b, i, c) -> (b, i, c)>, affine_map<(b, i, c) -> (b, c)>, affine_map<(b, i, c) -> (b, i, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x, %sum : memref<2x25x16xf32>, memref<2x16xf32>) outs(%y : memref<2x25x16xf32>) {
  ^bb0(%a: f32, %m: f32, %old: f32):
    %d = arith.subf %a, %m : f32
    linalg.yield %d : f32
  }
  func.return
}

// A row of a table that a number says, each number of which is read once.
// CHECK-LABEL: func.func private @words
// CHECK-SAME: lamina.kernel = "rows"
// CHECK: affine.parallel (%[[I:.*]]) = (0) to (9) {
// CHECK-NEXT: %[[WORD:.*]] = affine.load %w[%[[I]]] : memref<9xi64>
// CHECK-NEXT: %[[AT:.*]] = arith.index_cast %[[WORD]] : i64 to index
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[ROW:.*]] = vector.load %t[%[[AT]], %[[ZERO]]] : memref<99x32xf32>, vector<32xf32>
// CHECK-NEXT: vector.reduction <add>, %[[ROW]] : vector<32xf32> into f32
// CHECK: affine.vector_store
func.func private @words(%w: memref<9xi64>, %t: memref<99x32xf32>, %y: memref<9x32xf32>, %row: memref<9x32xf32>, %sum: memref<9xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%w : memref<9xi64>) outs(%row : memref<9x32xf32>) {
  ^bb0(%a: i64, %old: f32):
    %at = arith.index_cast %a : i64 to index
    %j = linalg.index 1 : index
    %v = memref.load %t[%at, %j] : memref<99x32xf32>
    linalg.yield %v : f32
  }
  linalg.fill ins(%zero : f32) outs(%sum : memref<9xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%row : memref<9x32xf32>) outs(%sum : memref<9xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%row, %sum : memref<9x32xf32>, memref<9xf32>) outs(%y : memref<9x32xf32>) {
  ^bb0(%a: f32, %m: f32, %old: f32):
    %d = arith.subf %a, %m : f32
    linalg.yield %d : f32
  }
  func.return
}

// Where each element says what is read, there are no rows.
// CHECK-LABEL: func.func private @anywhere
// CHECK: linalg.generic
func.func private @anywhere(%w: memref<9x32xi64>, %t: memref<99x32xf32>, %sum: memref<9xf32>) attributes {lamina.kernel = "loops"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%w : memref<9x32xi64>) outs(%sum : memref<9xf32>) {
  ^bb0(%a: i64, %acc: f32):
    %at = arith.index_cast %a : i64 to index
    %j = linalg.index 1 : index
    %v = memref.load %t[%at, %j] : memref<99x32xf32>
    %s = arith.addf %acc, %v : f32
    linalg.yield %s : f32
  }
  func.return
}

// A product of matrices has no rows of its own, and columns that are gone through once need not be kept.
// CHECK-LABEL: func.func private @product
// CHECK-SAME: lamina.kernel = "contraction"
// CHECK: linalg.generic
func.func private @product(%a: memref<4x16xf32>, %b: memref<16x8xf32>, %c: memref<4x8xf32>) attributes {lamina.kernel = "contraction"} {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<4x16xf32>, memref<16x8xf32>) outs(%c : memref<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @columns
// CHECK: linalg.generic
func.func private @columns(%x: memref<16x8xf32>, %y: memref<8xf32>) attributes {lamina.kernel = "loops"} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<16x8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  func.return
}

// A buffer that is only filled is no part of a row's program.
// CHECK-LABEL: func.func private @filled
// CHECK: linalg.fill
// CHECK: linalg.generic
func.func private @filled(%x: memref<16x8xf32>, %y: memref<16xf32>, %z: memref<16x8xf32>) attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%z : memref<16x8xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<16x8xf32>) outs(%y : memref<16xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  func.return
}
