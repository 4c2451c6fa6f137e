// RUN: lamina-opt %s -p convert-linalg-to-affine | filecheck %s
// CHECK: affine.for %[[O:.*]] = 0 to 7 {
// CHECK-NEXT: affine.for %[[K:.*]] = 0 to 64 {
// CHECK-NEXT: affine.for %[[I:.*]] = 0 to 16 {
// CHECK-NEXT: %[[V:.*]] = affine.if {{.*}}(%[[O]], %[[K]], %[[I]]) -> (f32) {
// CHECK-NEXT: %[[L:.*]] = affine.load %w[%[[K]], %[[O]] * 16 + %[[I]]] : memref<64x100xf32>
// CHECK-NEXT: affine.yield %[[L]] : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: affine.yield %zero : f32
// CHECK-NEXT: }
// CHECK-NEXT: affine.store %[[V]], %p[%[[O]], %[[K]], %[[I]]] : memref<7x64x16xf32>
func.func @pack(%w: memref<64x100xf32>, %p: memref<7x64x16xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.pack %w padding_value(%zero : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [16] into %p : memref<64x100xf32>, memref<7x64x16xf32>
  func.return
}
