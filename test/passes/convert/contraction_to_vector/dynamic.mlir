// RUN: lamina-opt %s -p convert-contraction-to-vector | filecheck %s

// A B that is packed at run time: the panels are written first; its source is contiguous along k, so element by element.
// CHECK-LABEL: func.func private @packed
// CHECK: %[[E:.*]] = affine.load %{{.*}} : memref<5120xf32>
// CHECK-NEXT: affine.store %[[E]], %{{.*}} : memref<6144xf32>
// CHECK: vector.fma
func.func private @packed(%q: memref<40x4x32xf32>, %k: memref<40x4x32xf32>, %y: memref<4x40x40xf32>, %s: memref<4x3x32x16xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%s : memref<4x3x32x16xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, h, k) -> (n, h, k)>, affine_map<(n, h, k) -> (h, n floordiv 16, k, n mod 16)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%k : memref<40x4x32xf32>) outs(%s : memref<4x3x32x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.fill ins(%zero : f32) outs(%y : memref<4x40x40xf32>)
  linalg.generic {indexing_maps = [affine_map<(h, m, n, k) -> (m, h, k)>, affine_map<(h, m, n, k) -> (h, n floordiv 16, k, n mod 16)>, affine_map<(h, m, n, k) -> (h, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %s : memref<40x4x32xf32>, memref<4x3x32x16xf32>) outs(%y : memref<4x40x40xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }
  func.return
}

// A B that is contiguous along n is read in place; 19 columns need a mask in the second vector.
// CHECK-LABEL: func.func private @in_place
// CHECK: affine.vector_load %{{.*}} : memref<608xf32>, vector<16xf32>
// CHECK: %[[MASK:.*]] = vector.constant_mask [3] : vector<4xi1>
// CHECK: vector.maskedload %{{.*}}[%{{.*}}], %[[MASK]], %{{.*}} : memref<608xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
// CHECK: vector.maskedstore %{{.*}}[%{{.*}}], %[[MASK]], %{{.*}} : memref<95xf32>, vector<4xi1>, vector<4xf32>
func.func private @in_place(%x: memref<5x32xf32>, %w: memref<32x19xf32>, %y: memref<5x19xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<5x19xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<5x32xf32>, memref<32x19xf32>) outs(%y : memref<5x19xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }
  func.return
}

// No input is contiguous along n: left to the loops.
// CHECK-LABEL: func.func private @left_alone
// CHECK-SAME: lamina.not_tiled = "no input is contiguous along the output's innermost dimension"
// CHECK: linalg.generic
func.func private @left_alone(%x: memref<5x32xf32>, %w: memref<19x32xf32>, %y: memref<5x19xf32>) attributes {lamina.kernel = "contraction"} {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<5x32xf32>, memref<19x32xf32>) outs(%y : memref<5x19xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }
  func.return
}

// The epilogue adds to what the output held, so no element may be computed twice: 13 rows are a tile of 5 and 2 of 4.
// CHECK-LABEL: func.func private @residual_in_place
// CHECK: affine.vector_store %{{.*}}, %{{.*}}[48] : memref<208xf32>, vector<16xf32>
// CHECK: affine.for %[[STRIP:.*]] = 0 to 2 {
// CHECK-NEXT: %[[ROW:.*]] = affine.apply affine_map<(d0) -> (((d0 * 4) + 5))> (%[[STRIP]])
// CHECK: affine.vector_store %{{.*}}, %{{.*}}[%[[ROW]] * 16 + 32]
func.func private @residual_in_place(%x: memref<13x32xf32>, %w: memref<1x32x16xf32>, %sums: memref<13x16xf32>, %y: memref<13x16xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sums : memref<13x16xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n floordiv 16, k, n mod 16)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<13x32xf32>, memref<1x32x16xf32>) outs(%sums : memref<13x16xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<13x16xf32>) outs(%y : memref<13x16xf32>) {
  ^bb0(%s: f32, %o: f32):
    %t = arith.addf %s, %o : f32
    linalg.yield %t : f32
  }
  func.return
}
