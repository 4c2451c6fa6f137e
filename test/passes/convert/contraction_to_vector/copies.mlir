// RUN: lamina-opt %s -p convert-contraction-to-vector | filecheck %s
// Each block of k first copies the rows of A: eight rounds of two rows are turned in registers, so that what a tile reads
// in one round lies together. Its tiles read the copy alone.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1 floordiv 16, d2, d1 mod 16)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: affine.for %[[BLOCK:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %[[STRIP:.*]] = 0 to 3 {
// CHECK: %[[PLACE:.*]] = affine.apply affine_map<(d0, d1) -> (((d0 * 64) + (d1 * -64)))> (%[[STRIP]], %[[BLOCK]])
// CHECK: affine.for %[[K:.*]] = affine_map<(d0) -> ((d0 * 32))>(%[[BLOCK]]) to affine_map<(d0) -> (((d0 * 32) + 32))>(%[[BLOCK]]) step 8 {
// CHECK-COUNT-2: affine.vector_load %{{.*}} : memref<384xf32>, vector<8xf32>
// CHECK: vector.shuffle
// CHECK: affine.vector_store %{{.*}}, %copies[%[[PLACE]] + %[[K]] * 2] : memref<208xf32>, vector<8xf32>
// CHECK: affine.vector_store %{{.*}}, %copies[%[[PLACE]] + %[[K]] * 2 + 14] : memref<208xf32>, vector<8xf32>
// CHECK: affine.for %{{.*}} = 0 to 2 {
// CHECK: affine.load %copies[%[[TILE:.*]] + %[[ROUND:.*]] * 2] : memref<208xf32>
// CHECK-NEXT: affine.load %copies[%[[TILE]] + %[[ROUND]] * 2 + 1] : memref<208xf32>
// CHECK-NEXT: vector.broadcast
func.func private @kernel(%x: memref<6x64xf32>, %w: memref<2x64x16xf32>, %y: memref<6x32xf32>, %copies: memref<208xf32>) attributes {lamina.kernel = "contraction", lamina.copies, lamina.scratch = 1 : i64, lamina.schedule = "rows=2 depth=32 copy=1"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<6x32xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<6x64xf32>, memref<2x64x16xf32>) outs(%y : memref<6x32xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
