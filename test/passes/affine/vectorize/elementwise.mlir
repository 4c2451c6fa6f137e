// RUN: lamina-opt %s -p affine-vectorize | filecheck %s

// 77 rounds in vectors of 32 (the body is light); the last vector has as many registers as the 13 rounds left need, and
// overlaps the one before.
// CHECK-LABEL: func.func @overlap
// CHECK: affine.for %[[J:.*]] = 0 to 64 step 32 {
// CHECK-NEXT: %[[A:.*]] = affine.vector_load %{{.*}}[%{{.*}}, %[[J]]] : memref<8x77xf32>, vector<32xf32>
// CHECK-NEXT: %[[B:.*]] = affine.load %{{.*}}[%{{.*}}] : memref<8xf32>
// CHECK-NEXT: %[[B32:.*]] = vector.broadcast %[[B]] : f32 to vector<32xf32>
// CHECK-NEXT: %[[S:.*]] = arith.mulf %[[A]], %[[B32]] : vector<32xf32>
// CHECK-NEXT: affine.vector_store %[[S]], %{{.*}}[%{{.*}}, %[[J]]] : memref<8x77xf32>, vector<32xf32>
// CHECK: %[[LAST:.*]] = arith.constant 61 : index
// CHECK-NEXT: affine.vector_load %{{.*}}[%{{.*}}, %[[LAST]]] : memref<8x77xf32>, vector<16xf32>
// CHECK: affine.vector_store %{{.*}}[%{{.*}}, %[[LAST]]] : memref<8x77xf32>, vector<16xf32>
func.func @overlap(%x: memref<8x77xf32>, %s: memref<8xf32>, %y: memref<8x77xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 77 {
      %a = affine.load %x[%i, %j] : memref<8x77xf32>
      %b = affine.load %s[%i] : memref<8xf32>
      %c = arith.mulf %a, %b : f32
      affine.store %c, %y[%i, %j] : memref<8x77xf32>
    }
  }
  func.return
}

// Two registers are left: nothing is done twice.
// CHECK-LABEL: func.func @whole_registers
// CHECK: affine.for %{{.*}} = 0 to 96 step 32 {
// CHECK: %[[LAST:.*]] = arith.constant 96 : index
// CHECK-NEXT: affine.vector_load %x[%[[LAST]]] : memref<112xf32>, vector<16xf32>
func.func @whole_registers(%x: memref<112xf32>, %y: memref<112xf32>) {
  affine.for %j = 0 to 112 {
    %a = affine.load %x[%j] : memref<112xf32>
    %c = arith.addf %a, %a : f32
    affine.store %c, %y[%j] : memref<112xf32>
  }
  func.return
}

// In place a round may not run twice: the last 13 are under a mask.
// CHECK-LABEL: func.func @masked
// CHECK: affine.for %{{.*}} = 0 to 64 step 32 {
// CHECK: %[[MASK:.*]] = vector.constant_mask [13] : vector<16xi1>
// CHECK: vector.maskedload %{{.*}}[%{{.*}}], %[[MASK]], %{{.*}} : memref<77xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
// CHECK: vector.maskedstore %{{.*}}[%{{.*}}], %[[MASK]], %{{.*}} : memref<77xf32>, vector<16xi1>, vector<16xf32>
func.func @masked(%y: memref<77xf32>) {
  affine.for %j = 0 to 77 {
    %a = affine.load %y[%j] : memref<77xf32>
    %c = arith.addf %a, %a : f32
    affine.store %c, %y[%j] : memref<77xf32>
  }
  func.return
}

// The bounds of a tile: 64 rounds from a start known later.
// CHECK-LABEL: func.func @tile
// CHECK: affine.for %{{.*}} = affine_map<(d0) -> ((d0 * 64))>(%[[T:.*]]) to affine_map<(d0) -> (((d0 * 64) + 64))>(%[[T]]) step 32 {
// CHECK: math.exp %{{.*}} : vector<32xf32>
func.func @tile(%x: memref<256xf32>, %y: memref<256xf32>) {
  affine.parallel (%t) = (0) to (4) {
    affine.for %j = affine_map<(d0) -> (d0 * 64)>(%t) to affine_map<(d0) -> (d0 * 64 + 64)>(%t) {
      %a = affine.load %x[%j] : memref<256xf32>
      %c = math.exp %a : f32
      affine.store %c, %y[%j] : memref<256xf32>
    }
  }
  func.return
}

// The loop's variable as data, a comparison, a selection; narrow integers beside floats.
// CHECK-LABEL: func.func @index
// CHECK: %[[FIRST:.*]] = vector.broadcast %[[J:.*]] : index to vector<16xindex>
// CHECK: %[[LANES:.*]] = arith.addi %[[FIRST]], %{{.*}} : vector<16xindex>
// CHECK: arith.index_cast %[[LANES]] : vector<16xindex> to vector<16xi32>
// CHECK: arith.extsi %{{.*}} : vector<16xi8> to vector<16xi32>
// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<16xi1>, vector<16xf32>
func.func @index(%x: memref<64xi8>, %f: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %j = 0 to 64 {
    %i = arith.index_cast %j : index to i32
    %a = affine.load %x[%j] : memref<64xi8>
    %b = arith.extsi %a : i8 to i32
    %c = arith.cmpi slt, %b, %i : i32
    %v = affine.load %f[%j] : memref<64xf32>
    %s = arith.select %c, %v, %zero : f32
    affine.store %s, %y[%j] : memref<64xf32>
  }
  func.return
}

// The rows of a table chosen by data are contiguous.
// CHECK-LABEL: func.func @rows_of_a_table
// CHECK: vector.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<100x64xf32>, vector<32xf32>
func.func @rows_of_a_table(%table: memref<100x64xf32>, %ids: memref<4xi64>, %y: memref<4x64xf32>) {
  affine.for %i = 0 to 4 {
    %id = affine.load %ids[%i] : memref<4xi64>
    %row = arith.index_cast %id : i64 to index
    affine.for %j = 0 to 64 {
      %v = memref.load %table[%row, %j] : memref<100x64xf32>
      affine.store %v, %y[%i, %j] : memref<4x64xf32>
    }
  }
  func.return
}

// Every other element is two vectors and a shuffle, the second one ending with the last element; backwards is one.
// CHECK-LABEL: func.func @every_other
// CHECK: %[[A:.*]] = affine.vector_load %x[%[[J:.*]] * 2] : memref<127xf32>, vector<32xf32>
// CHECK: %[[B:.*]] = affine.vector_load %x[%[[J]] * 2 + 31] : memref<127xf32>, vector<32xf32>
// CHECK: vector.shuffle %[[A]], %[[B]] [0, 2, 4
func.func @every_other(%x: memref<127xf32>, %y: memref<64xf32>) {
  affine.for %j = 0 to 64 {
    %a = affine.load %x[%j * 2] : memref<127xf32>
    affine.store %a, %y[%j] : memref<64xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @backwards
// CHECK: %[[A:.*]] = affine.vector_load %x[%{{.*}} * -1 + 32] : memref<64xf32>, vector<32xf32>
// CHECK: vector.shuffle %[[A]], %[[A]] [31, 30
func.func @backwards(%x: memref<64xf32>, %y: memref<64xf32>) {
  affine.for %j = 0 to 64 {
    %a = affine.load %x[-%j + 63] : memref<64xf32>
    affine.store %a, %y[%j] : memref<64xf32>
  }
  func.return
}

// What no loop changes may be added to subscripts: the access is as contiguous as without.
// CHECK-LABEL: func.func @offset
// CHECK: affine.for %[[J:.*]] = 0 to 64 step 32 {
// CHECK: affine.vector_load %x[symbol(%n), %[[J]] + symbol(%n) + 4] : memref<9x99xf32>, vector<32xf32>
// CHECK: affine.vector_store %{{.*}}, %y[%[[J]] + symbol(%n)] : memref<99xf32>, vector<32xf32>
func.func @offset(%x: memref<9x99xf32>, %n: index, %y: memref<99xf32>) {
  affine.for %j = 0 to 64 {
    %a = affine.load %x[symbol(%n), %j + symbol(%n) + 4] : memref<9x99xf32>
    %c = arith.mulf %a, %a : f32
    affine.store %c, %y[%j + symbol(%n)] : memref<99xf32>
  }
  func.return
}
