// RUN: lamina-opt %s -p affine-vectorize | filecheck %s
// RUN: lamina-opt %s -p affine-vectorize --machine x86-64-avx512 | filecheck %s --check-prefix WIDE
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

// Tiles that stick out: as many squares as cover what is there, the last one ending with it.
// CHECK-LABEL: func.func @tiles
// CHECK: affine.for %[[T:.*]] = 0 to 3 {
// CHECK-NEXT: affine.for %[[TJ:.*]] = 0 to min affine_map<(d0) -> (5, (((d0 * -40) + 100) ceildiv 8))>(%[[T]]) {
// CHECK-NEXT: affine.for %[[TI:.*]] = 0 to 4 {
// CHECK: affine.min affine_map<(d0, d1) -> ((d0 * 8), 32, ((d1 * -40) + 92))> (%[[TJ]], %[[T]])
// CHECK: vector.shuffle
func.func @tiles(%x: memref<100x32xf32>, %y: memref<32x100xf32>) {
  affine.for %t = 0 to 3 {
    affine.for %i = 0 to 32 {
      affine.for %j = 0 to min affine_map<(d0) -> (40, d0 * -40 + 100)>(%t) {
        %a = affine.load %x[%t * 40 + %j, %i] : memref<100x32xf32>
        affine.store %a, %y[%i, %t * 40 + %j] : memref<32x100xf32>
      }
    }
  }
  func.return
}

// Tiles of a parallel loop over both dimensions.
// CHECK-LABEL: func.func @shared
// CHECK: affine.parallel (%[[T:.*]], %{{.*}}) = (0, 0) to (3, 2) {
// CHECK-NEXT: affine.for %{{.*}} = 0 to min affine_map<(d0) -> (5, (((d0 * -40) + 100) ceildiv 8))>(%[[T]]) {
// CHECK: vector.shuffle
func.func @shared(%x: memref<100x64xf32>, %y: memref<64x100xf32>) {
  affine.parallel (%t, %s) = (0, 0) to (3, 2) {
    affine.for %i = 0 to 32 {
      affine.for %j = 0 to min affine_map<(d0) -> (40, d0 * -40 + 100)>(%t) {
        %a = affine.load %x[%t * 40 + %j, %s * 32 + %i] : memref<100x64xf32>
        affine.store %a, %y[%s * 32 + %i, %t * 40 + %j] : memref<64x100xf32>
      }
    }
  }
  func.return
}

// The last tile has less than a square: no squares.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: shuffle
func.func @narrow(%x: memref<68x32xf32>, %y: memref<32x68xf32>) {
  affine.for %t = 0 to 3 {
    affine.for %i = 0 to 32 {
      affine.for %j = 0 to min affine_map<(d0) -> (32, d0 * -32 + 68)>(%t) {
        %a = affine.load %x[%t * 32 + %j, %i] : memref<68x32xf32>
        affine.store %a, %y[%i, %t * 32 + %j] : memref<32x68xf32>
      }
    }
  }
  func.return
}

// Bytes in squares of 16, in four stages of eight pairs of shuffles.
// CHECK-LABEL: func.func @bytes
// CHECK-COUNT-16: affine.vector_load %{{.*}} : memref<32x48xi8>, vector<16xi8>
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: affine.vector_store %{{.*}} : memref<48x32xi8>, vector<16xi8>
func.func @bytes(%x: memref<32x48xi8>, %y: memref<48x32xi8>) {
  affine.for %i = 0 to 48 {
    affine.for %j = 0 to 32 {
      %a = affine.load %x[%j, %i] : memref<32x48xi8>
      affine.store %a, %y[%i, %j] : memref<48x32xi8>
    }
  }
  func.return
}

// Registers of 512 bits have 16 words: two stages inside of 128 bits, then parts of 128 and of 256 bits.
// WIDE-LABEL: func.func @wide
// WIDE-COUNT-16: affine.vector_load %{{.*}} : memref<48x64xf32>, vector<16xf32>
// WIDE: vector.shuffle %{{.*}} [0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29] : vector<16xf32>, vector<16xf32>
// WIDE: vector.shuffle %{{.*}} [0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27] : vector<16xf32>, vector<16xf32>
// WIDE: vector.shuffle %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23] : vector<16xf32>, vector<16xf32>
// WIDE-COUNT-16: affine.vector_store %{{.*}} : memref<64x48xf32>, vector<16xf32>
// CHECK-LABEL: func.func @wide
// CHECK-COUNT-8: affine.vector_load %{{.*}} : memref<48x64xf32>, vector<8xf32>
// CHECK: affine.vector_store
func.func @wide(%x: memref<48x64xf32>, %y: memref<64x48xf32>) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 48 {
      %a = affine.load %x[%j, %i] : memref<48x64xf32>
      affine.store %a, %y[%i, %j] : memref<64x48xf32>
    }
  }
  func.return
}
