// RUN: lamina-opt %s -p 'convert-contraction-to-vector{schedule="rows=4 depth=32 ahead=4"}' | filecheck %s
// Blocks of k of 32 rounds outermost: the sums begin with zeros in the first block, else with what waits in the output,
// and the bias is added after the last. Each tile asks for a fourth of the next panel, one row every fourth round.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1 floordiv 16, d2, d1 mod 16)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#j = affine_map<(d0, d1) -> (d1)>
#c2 = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func private @kernel
// CHECK: affine.for %[[BLOCK:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %[[PANEL:.*]] = 0 to 3 {
// CHECK-NEXT: affine.for %[[STRIP:.*]] = 0 to 2 {
// CHECK: affine.if affine_set<(d0) : (d0 == 0)>(%[[BLOCK]])
// CHECK: affine.yield
// CHECK: } else {
// CHECK-NEXT: affine.vector_load %[[Y:[0-9]+]][%{{.*}} * 48 + %[[PANEL]] * 16] : memref<384xf32>, vector<16xf32>
// CHECK: %[[NEXT:.*]] = affine.min affine_map<(d0, d1, d2) -> ((((d0 * 1024) + 1024) + ((d1 * 128) + (d2 * 384))), 2048)> (%[[PANEL]], %[[STRIP]], %[[BLOCK]])
// CHECK: affine.for %[[START:.*]] = affine_map<(d0) -> ((d0 * 32))>(%[[BLOCK]]) to affine_map<(d0) -> (((d0 * 32) + 32))>(%[[BLOCK]]) step 4
// CHECK: %[[ROW:.*]] = affine.apply affine_map<(d0, d1) -> ((((d1 * 16) floordiv 4) + d0))> (%[[NEXT]], %[[START]])
// CHECK: memref.prefetch %{{.*}}[%[[ROW]]], read, locality<3>, data : memref<3072xf32>
// CHECK: affine.for %{{.*}} = affine_map<(d0) -> (d0)>(%[[START]]) to affine_map<(d0) -> ((d0 + 4))>(%[[START]])
// CHECK: vector.fma
// CHECK: affine.if affine_set<(d0) : ((d0 + -1) == 0)>(%[[BLOCK]]) {
// CHECK-NEXT: affine.vector_load %bias
// CHECK: arith.addf
// CHECK: } else {
// CHECK-NEXT: affine.vector_store %{{.*}}, %[[Y]][%{{.*}} * 48 + %[[PANEL]] * 16] : memref<384xf32>, vector<16xf32>
func.func private @kernel(%x: memref<8x64xf32>, %w: memref<3x64x16xf32>, %bias: memref<48xf32>, %y: memref<8x48xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<8x48xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<8x64xf32>, memref<3x64x16xf32>) outs(%y : memref<8x48xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#j, #c2], iterator_types = ["parallel", "parallel"]}
      ins(%bias : memref<48xf32>) outs(%y : memref<8x48xf32>) {
  ^bb0(%l: f32, %o: f32):
    %s = arith.addf %o, %l : f32
    linalg.yield %s : f32
  }
  func.return
}
