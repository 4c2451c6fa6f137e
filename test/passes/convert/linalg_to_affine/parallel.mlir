// RUN: lamina-opt %s -p 'convert-linalg-to-affine{parallel=true}' | filecheck %s

// Parallel dimensions are outside, with nothing between them; the reduction is a loop inside.
// CHECK-LABEL: func.func @product
// CHECK: affine.parallel (%[[I:.*]]) = (0) to (4) {
// CHECK-NEXT: affine.parallel (%[[J:.*]]) = (0) to (8) {
// CHECK-NEXT: %[[S:.*]] = affine.for %[[K:.*]] = 0 to 16 iter_args
// CHECK: affine.load %a[%[[I]], %[[K]]]
// CHECK: affine.store %[[S]], %c[%[[I]], %[[J]]]
func.func @product(%a: memref<4x16xf32>, %b: memref<16x8xf32>, %c: memref<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<4x8xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<4x16xf32>, memref<16x8xf32>) outs(%c : memref<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
