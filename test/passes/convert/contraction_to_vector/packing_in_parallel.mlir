// RUN: lamina-opt %s -p convert-contraction-to-vector --machine x86-64-avx512 | filecheck %s

// Two threads pack 12 panels of 192 × 160 numbers, four side by side, and each multiplies some of them.
// CHECK-LABEL: func.func private @large
// CHECK:         affine.parallel ([[P:%[0-9]+]]) = (0) to (3) {
// CHECK-NEXT:      affine.for [[K:%[0-9]+]] = 0 to 160 {
// CHECK-COUNT-4:     affine.vector_store %{{.*}} : memref<30720xf32>, vector<16xf32>
// CHECK:         affine.parallel (%{{.*}}) = (0) to (2) {
// CHECK:           vector.fma
func.func private @large(%x: memref<192x160xf32>, %w: memref<160x192xf32>, %y: memref<192x192xf32>, %s: memref<12x160x16xf32>) attributes {lamina.kernel = "contraction"} {
  linalg.generic {indexing_maps = [affine_map<(k, n) -> (k, n)>, affine_map<(k, n) -> (n floordiv 16, k, n mod 16)>], iterator_types = ["parallel", "parallel"]}
      ins(%w : memref<160x192xf32>) outs(%s : memref<12x160x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<192x192xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n floordiv 16, k, n mod 16)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %s : memref<192x160xf32>, memref<12x160x16xf32>) outs(%y : memref<192x192xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }
  func.return
}

// Fewer are packed by one, sooner than a second would begin.
// CHECK-LABEL: func.func private @small
// CHECK-NOT:     affine.parallel
// CHECK:         affine.vector_store
// CHECK:         affine.parallel
// CHECK:           vector.fma
func.func private @small(%x: memref<192x96xf32>, %w: memref<96x192xf32>, %y: memref<192x192xf32>, %s: memref<12x96x16xf32>) attributes {lamina.kernel = "contraction"} {
  linalg.generic {indexing_maps = [affine_map<(k, n) -> (k, n)>, affine_map<(k, n) -> (n floordiv 16, k, n mod 16)>], iterator_types = ["parallel", "parallel"]}
      ins(%w : memref<96x192xf32>) outs(%s : memref<12x96x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<192x192xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n floordiv 16, k, n mod 16)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %s : memref<192x96xf32>, memref<12x96x16xf32>) outs(%y : memref<192x192xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }
  func.return
}
