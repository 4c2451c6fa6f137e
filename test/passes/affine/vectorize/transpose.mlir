// RUN: lamina-opt %s -p affine-vectorize | filecheck %s
// 20 x 56 elements in squares of 8: three squares of rows that overlap, seven of columns.

// CHECK-LABEL: func.func @turn
// CHECK: affine.parallel (%[[TI:.*]]) = (0) to (3) {
// CHECK-NEXT: affine.for %[[TJ:.*]] = 0 to 7 {
// CHECK-NEXT: %[[I:.*]] = affine.apply affine_map<(d0) -> (((d0 * 12) floordiv 2))> (%[[TI]])
// CHECK-NEXT: %[[J:.*]] = affine.apply affine_map<(d0) -> ((d0 * 8))> (%[[TJ]])
// CHECK: %[[A:.*]] = affine.vector_load %{{.*}}[%[[J]], %[[I]]] : memref<56x20xf32>, vector<8xf32>
// CHECK: vector.shuffle %[[A]], %{{.*}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xf32>, vector<8xf32>
// CHECK: affine.vector_store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : memref<20x56xf32>, vector<8xf32>
func.func @turn(%x: memref<56x20xf32>, %y: memref<20x56xf32>) {
  affine.parallel (%i) = (0) to (20) {
    affine.for %j = 0 to 56 {
      %a = affine.load %x[%j, %i] : memref<56x20xf32>
      affine.store %a, %y[%i, %j] : memref<20x56xf32>
    }
  }
  func.return
}

// A row that the loop reads may have been written by another: no squares.
// CHECK-LABEL: func.func @in_place
// CHECK-NOT: shuffle
func.func @in_place(%x: memref<16x16xf32>) {
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      %a = affine.load %x[%j, %i] : memref<16x16xf32>
      affine.store %a, %x[%i, %j] : memref<16x16xf32>
    }
  }
  func.return
}
