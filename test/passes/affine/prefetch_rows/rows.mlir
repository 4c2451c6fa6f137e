// RUN: lamina-opt %s -p 'affine-prefetch-rows{bytes=4096}' | filecheck %s
// RUN: lamina-opt %s -p 'affine-prefetch-rows' | filecheck %s --check-prefix SMALL

// The second cache holds any of these.
// SMALL-NOT: memref.prefetch

// Of two loops that read a row again the one that works more asks for the next row, a cache line at a time, whatever
// the loop before them takes at a time.
// CHECK-LABEL: func.func @softmax
// CHECK: affine.parallel (%[[R:.*]]) = (0) to (64) {
// CHECK-NOT: memref.prefetch
// CHECK: %[[NEXT:.*]] = affine.min affine_map<(d0) -> ((d0 + 1), 63)> (%[[R]])
// CHECK-NEXT: affine.for %[[I:.*]] = 0 to 1024 step 32
// CHECK-NEXT: %[[ROW:.*]] = affine.apply affine_map<(d0, d1) -> (d0)> (%[[NEXT]], %[[I]])
// CHECK-NEXT: %[[FIRST:.*]] = affine.apply affine_map<(d0, d1) -> (d1)> (%[[NEXT]], %[[I]])
// CHECK-NEXT: memref.prefetch %x[%[[ROW]], %[[FIRST]]], read, locality<3>, data : memref<64x1024xf32>
// CHECK-NEXT: %[[ROW:.*]] = affine.apply affine_map<(d0, d1) -> (d0)> (%[[NEXT]], %[[I]])
// CHECK-NEXT: %[[SECOND:.*]] = affine.apply affine_map<(d0, d1) -> ((d1 + 16))> (%[[NEXT]], %[[I]])
// CHECK-NEXT: memref.prefetch %x[%[[ROW]], %[[SECOND]]], read, locality<3>, data : memref<64x1024xf32>
// CHECK-NEXT: affine.vector_load %x[%[[R]], %[[I]]]
// CHECK: math.exp
// CHECK-NOT: memref.prefetch
// CHECK: func.return
func.func @softmax(%x: memref<64x1024xf32>, %y: memref<64x1024xf32>) {
  affine.parallel (%r) = (0) to (64) {
    affine.for %i = 0 to 1024 step 64 {
      %a = affine.vector_load %x[%r, %i] : memref<64x1024xf32>, vector<64xf32>
      affine.vector_store %a, %y[%r, %i] : memref<64x1024xf32>, vector<64xf32>
    }
    affine.for %i = 0 to 1024 step 32 {
      %a = affine.vector_load %x[%r, %i] : memref<64x1024xf32>, vector<32xf32>
      %b = math.exp %a : vector<32xf32>
      affine.vector_store %b, %y[%r, %i] : memref<64x1024xf32>, vector<32xf32>
    }
    affine.for %i = 0 to 1024 step 32 {
      %a = affine.vector_load %x[%r, %i] : memref<64x1024xf32>, vector<32xf32>
      affine.vector_store %a, %y[%r, %i] : memref<64x1024xf32>, vector<32xf32>
    }
  }
  func.return
}

// Short rows: one that is far enough away for memory to bring it in time.
// CHECK-LABEL: func.func @short
// CHECK: affine.min affine_map<(d0) -> ((d0 + 8), 62)>
// CHECK: memref.prefetch %x
func.func @short(%x: memref<8192xf32>, %y: memref<8192xf32>) {
  affine.for %r = 0 to 64 step 2 {
    affine.for %i = 0 to 128 step 32 {
      %a = affine.vector_load %x[%r * 128 + %i] : memref<8192xf32>, vector<32xf32>
      affine.vector_store %a, %y[%r * 128 + %i] : memref<8192xf32>, vector<32xf32>
    }
    affine.for %i = 0 to 128 step 32 {
      %a = affine.vector_load %x[%r * 128 + %i] : memref<8192xf32>, vector<32xf32>
      %b = arith.addf %a, %a : vector<32xf32>
      affine.vector_store %b, %y[%r * 128 + %i] : memref<8192xf32>, vector<32xf32>
    }
  }
  func.return
}

// Where in a row to load is told by data, in as many places as the row has lines: each iteration asks for its share of
// the next row, as memory has it.
// CHECK-LABEL: func.func @gathered
// CHECK: affine.parallel (%[[R:.*]]) = (0) to (64) {
// CHECK-NEXT: %[[ROW:.*]] = affine.apply affine_map<(d0) -> (d0)> (%[[R]])
// CHECK-NEXT: %[[NEXT:.*]] = affine.min affine_map<(d0) -> ((d0 + 1), 63)> (%[[R]])
// CHECK-NEXT: %[[LATER:.*]] = affine.apply affine_map<(d0) -> (d0)> (%[[NEXT]])
// CHECK-NEXT: affine.for %[[I:.*]] = 0 to 96 {
// CHECK: %[[PART:.*]] = affine.apply affine_map<(d0) -> (((d0 * 32) floordiv 3))> (%[[I]])
// CHECK-NEXT: memref.prefetch %x[%[[LATER]], %[[PART]]], read, locality<2>, data : memref<64x1024xf32>
// CHECK-NEXT: memref.load %x[%[[ROW]], %{{.*}}]
// CHECK-NOT: memref.prefetch
// CHECK: func.return
func.func @gathered(%indices: memref<96xindex>, %x: memref<64x1024xf32>, %y: memref<64x96xf32>) {
  affine.parallel (%r) = (0) to (64) {
    %row = affine.apply affine_map<(d0) -> (d0)> (%r)
    affine.for %i = 0 to 96 {
      %place = affine.load %indices[%i] : memref<96xindex>
      %a = memref.load %x[%row, %place] : memref<64x1024xf32>
      %b = memref.load %x[%row, %place] : memref<64x1024xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %y[%r, %i] : memref<64x96xf32>
    }
  }
  func.return
}

// Refused: fewer places than the row has lines, rows that data tell, a place that all iterations share.
// CHECK-LABEL: func.func @few_places
// CHECK-NOT: memref.prefetch
func.func @few_places(%indices: memref<96xindex>, %x: memref<64x2048xf32>, %y: memref<64x96xf32>) {
  affine.parallel (%r) = (0) to (64) {
    affine.for %i = 0 to 96 {
      %place = affine.load %indices[%i] : memref<96xindex>
      %a = memref.load %x[%r, %place] : memref<64x2048xf32>
      affine.store %a, %y[%r, %i] : memref<64x96xf32>
    }
    %same = affine.load %indices[%r] : memref<96xindex>
    affine.for %i = 0 to 96 {
      %place = affine.load %indices[%i] : memref<96xindex>
      %a = memref.load %x[%place, %i] : memref<64x2048xf32>
      %b = memref.load %x[%r, %same] : memref<64x2048xf32>
      %c = memref.load %x[%place, %place] : memref<64x2048xf32>
      %d = arith.addf %a, %b : f32
      %e = arith.addf %c, %d : f32
      affine.store %e, %y[%r, %i] : memref<64x96xf32>
    }
  }
  func.return
}

// Refused: rows that are read once, a row that all iterations read, another part of the row, columns.
// CHECK-LABEL: func.func @refused
// CHECK-NOT: memref.prefetch
func.func @refused(%x: memref<64x1024xf32>, %w: memref<1x1024xf32>, %y: memref<64x1024xf32>) {
  affine.for %r = 0 to 64 {
    affine.for %i = 0 to 512 step 32 {
      %a = affine.vector_load %x[%r, %i] : memref<64x1024xf32>, vector<32xf32>
      %b = affine.vector_load %w[0, %i] : memref<1x1024xf32>, vector<32xf32>
      %c = arith.addf %a, %b : vector<32xf32>
      affine.vector_store %c, %y[%r, %i] : memref<64x1024xf32>, vector<32xf32>
    }
    affine.for %i = 0 to 512 step 32 {
      %a = affine.vector_load %x[%r, %i + 512] : memref<64x1024xf32>, vector<32xf32>
      %b = affine.vector_load %w[0, %i] : memref<1x1024xf32>, vector<32xf32>
      %c = arith.addf %a, %b : vector<32xf32>
      affine.vector_store %c, %y[%r, %i] : memref<64x1024xf32>, vector<32xf32>
    }
  }
  affine.for %r = 0 to 32 step 32 {
    affine.for %i = 0 to 64 {
      %a = affine.vector_load %x[%i, %r] : memref<64x1024xf32>, vector<32xf32>
      affine.vector_store %a, %y[%i, %r] : memref<64x1024xf32>, vector<32xf32>
    }
    affine.for %i = 0 to 64 {
      %a = affine.vector_load %x[%i, %r] : memref<64x1024xf32>, vector<32xf32>
      affine.vector_store %a, %y[%i, %r] : memref<64x1024xf32>, vector<32xf32>
    }
  }
  func.return
}
