// RUN: lamina-opt %s -p convert-contraction-to-vector | filecheck %s
// 13 rows in one tile of 5 and two of 4, 6 whole panels of 16 columns, then the last 4 columns in vectors of 4.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1 floordiv 16, d2, d1 mod 16)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#n = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func private @kernel
// CHECK-SAME: lamina.schedule = "rows=6 panels=1 row_blocks=1 panel_blocks=1 unroll=4 depth=0 ahead=0 copy=0"
// CHECK: affine.for %[[PANEL:.*]] = 0 to 6 {
// CHECK: affine.for %{{.*}} = 0 to 64 iter_args(%{{[0-9]+ = %[^,]+, %[^,]+, %[^,]+, %[^,]+, %[^,]+}})
// CHECK: affine.for %[[STRIP:.*]] = 0 to 2 {
// CHECK-NEXT: %[[ROW:.*]] = affine.apply affine_map<(d0) -> (((d0 * 4) + 5))> (%[[STRIP]])
// CHECK: affine.for %[[K:.*]] = 0 to 64 iter_args(%{{[0-9]+ = %[^,]+, %[^,]+, %[^,]+, %[^,)]+}})
// CHECK-NEXT: %[[B:.*]] = affine.vector_load %{{.*}}[%{{.*}} + %[[K]] * 16] : memref<7168xf32>, vector<16xf32>
// CHECK-NEXT: %[[A:.*]] = affine.load %{{.*}}[%{{.*}} + %[[K]]] : memref<832xf32>
// CHECK: %[[A16:.*]] = vector.broadcast %[[A]] : f32 to vector<16xf32>
// CHECK-NEXT: vector.fma %[[A16]], %[[B]], %{{.*}} : vector<16xf32>
// CHECK: %[[BIAS:.*]] = affine.vector_load %{{.*}}[%[[PANEL]] * 16] : memref<100xf32>, vector<16xf32>
// CHECK: %[[S:.*]] = arith.addf %{{.*}}, %[[BIAS]] : vector<16xf32>
// CHECK: %[[R:.*]] = arith.maximumf %[[S]], %{{.*}} : vector<16xf32>
// CHECK: affine.vector_store %[[R]], %{{.*}}[%[[ROW]] * 100 + %[[PANEL]] * 16] : memref<1300xf32>, vector<16xf32>
// CHECK: affine.vector_load %{{.*}} : memref<7168xf32>, vector<4xf32>
// CHECK-NOT: linalg
func.func private @kernel(%x: memref<13x64xf32>, %w: memref<7x64x16xf32>, %bias: memref<100xf32>, %y: memref<13x100xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<13x100xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<13x64xf32>, memref<7x64x16xf32>) outs(%y : memref<13x100xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#n, #id], iterator_types = ["parallel", "parallel"]}
      ins(%bias : memref<100xf32>) outs(%y : memref<13x100xf32>) {
  ^bb0(%b: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %s = arith.addf %o, %b : f32
    %r = arith.maximumf %s, %z : f32
    linalg.yield %r : f32
  }
  func.return
}
