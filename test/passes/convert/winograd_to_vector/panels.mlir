// RUN: lamina-opt %s -p convert-winograd-to-vector --machine x86-64-avx2 | filecheck %s

// Two rows of points of one panel's filters in the thread's own place, then all tiles on them.
// CHECK-LABEL: func.func private @products
// CHECK: affine.parallel (%[[T:.*]]) = (0) to (2)
// CHECK: %[[U:.*]] = memref.subview %{{.*}}[%{{.*}}] [30528] [1]
// CHECK: affine.for %[[P:.*]] = affine_map<(d0) -> (((d0 * 2) floordiv 2))>(%[[T]])
// CHECK: affine.for %[[ROWS:.*]] = 0 to 3
// CHECK: affine.for %[[C:.*]] = 0 to 32
// CHECK-COUNT-3: memref.prefetch
// CHECK-COUNT-9: affine.vector_load
// CHECK: affine.vector_store %{{.*}}, %[[U]][%[[C]] * 16] :
// CHECK: affine.vector_store %{{.*}}, %[[U]][%[[C]] * 16 + 528] :
// CHECK: affine.vector_store %{{.*}}, %[[U]][%[[C]] * 16 + 5808] :
// CHECK: affine.for %{{.*}} = 0 to 12
// CHECK: affine.vector_load %[[U]]
// CHECK: vector.fma
// CHECK-NOT: linalg
func.func private @products(%v: memref<6x6x3x4x1x32xf32>, %g: memref<2x32x3x3x16xf32>, %m: memref<6x6x3x4x1x32xf32>, %u: memref<6x6x2x32x16xf32>) attributes {lamina.kernel = "winograd", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.winograd_filter_transform fmr(F_4_3) ins(%g : memref<2x32x3x3x16xf32>) outs(%u : memref<6x6x2x32x16xf32>)
  linalg.fill ins(%zero : f32) outs(%m : memref<6x6x3x4x1x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(a, b, i, j, n, f, c) -> (a, b, i, j, n, c)>, affine_map<(a, b, i, j, n, f, c) -> (a, b, f floordiv 16, c, f mod 16)>, affine_map<(a, b, i, j, n, f, c) -> (a, b, i, j, n, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%v, %u : memref<6x6x3x4x1x32xf32>, memref<6x6x2x32x16xf32>) outs(%m : memref<6x6x3x4x1x32xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// Channels that do not stay near all at once come in parts: the first begin the sums, and the others add to them.
// CHECK-LABEL: func.func private @parts
// CHECK: affine.for %[[PART:.*]] = 0 to 2
// CHECK: affine.for %{{.*}} = 0 to 3
// CHECK: affine.for %{{.*}} = 0 to 80
// CHECK: affine.if affine_set<(d0) : (d0 == 0)>(%[[PART]])
// CHECK: affine.for %{{.*}} = 0 to 12
// CHECK-NOT: affine.vector_load
// CHECK: affine.for %{{.*}} = 0 to 80
// CHECK: vector.fma
// CHECK: } else {
// CHECK: affine.for %{{.*}} = 0 to 12
// CHECK: affine.vector_load
// CHECK: affine.for %{{.*}} = 0 to 80
// CHECK: vector.fma
func.func private @parts(%v: memref<6x6x2x2x1x160xf32>, %g: memref<2x160x3x3x16xf32>, %m: memref<6x6x2x2x1x32xf32>, %u: memref<6x6x2x160x16xf32>) attributes {lamina.kernel = "winograd", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.winograd_filter_transform fmr(F_4_3) ins(%g : memref<2x160x3x3x16xf32>) outs(%u : memref<6x6x2x160x16xf32>)
  linalg.fill ins(%zero : f32) outs(%m : memref<6x6x2x2x1x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(a, b, i, j, n, f, c) -> (a, b, i, j, n, c)>, affine_map<(a, b, i, j, n, f, c) -> (a, b, f floordiv 16, c, f mod 16)>, affine_map<(a, b, i, j, n, f, c) -> (a, b, i, j, n, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%v, %u : memref<6x6x2x2x1x160xf32>, memref<6x6x2x160x16xf32>) outs(%m : memref<6x6x2x2x1x32xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
