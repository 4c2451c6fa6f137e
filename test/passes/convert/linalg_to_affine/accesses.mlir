// Loads and arithmetic stand as far out as they can; subviews become part of the accesses; loops of one iteration
// and memory that is never read disappear; a gather is a memref.load.
// RUN: lamina-opt %s -p convert-linalg-to-affine | filecheck %s
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @hoisted
// CHECK: affine.for %[[I:.*]] = 0 to 8 {
// CHECK-NEXT: %[[S:.*]] = affine.load %s[%[[I]]]
// CHECK-NEXT: %[[E:.*]] = math.exp %[[S]]
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 16 {
func.func @hoisted(%x: memref<8x16xf32>, %s: memref<8xf32>, %y: memref<8x16xf32>) {
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : memref<8x16xf32>, memref<8xf32>) outs(%y : memref<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %e = math.exp %b : f32
    %m = arith.mulf %a, %e : f32
    linalg.yield %m : f32
  }
  func.return
}

// CHECK-LABEL: func.func @subview
// CHECK-NOT: memref.subview
// CHECK: affine.for %[[I:.*]] = 0 to 3 {
// CHECK-NEXT: %[[A:.*]] = affine.load %x[%[[I]]] : memref<3xf32>
// CHECK-NEXT: affine.store %[[A]], %y[2, %[[I]] * 2 + 1] : memref<4x8xf32>
func.func @subview(%x: memref<3xf32>, %y: memref<4x8xf32>) {
  %part = memref.subview %y[2, 1] [1, 3] [1, 2] : memref<4x8xf32> to memref<3xf32, strided<[2], offset: 17>>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<3xf32>) outs(%part : memref<3xf32, strided<[2], offset: 17>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  func.return
}

// CHECK-LABEL: func.func @window
// CHECK-NOT: memref.alloca
// CHECK-NEXT: affine.for %[[I:.*]] = 0 to 6 {
// CHECK-COUNT-3: affine.load %x[%{{.*}}] : memref<8xf32>
// CHECK: affine.store
func.func @window(%x: memref<8xf32>, %y: memref<1x6xf32>) {
  %window = memref.alloca() : memref<3xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1 + d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %window : memref<8xf32>, memref<3xf32>) outs(%y : memref<1x6xf32>) {
  ^bb0(%a: f32, %w: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  }
  func.return
}

// CHECK-LABEL: func.func @gather
// CHECK: %[[N:.*]] = affine.load %i[%{{.*}}] : memref<5xi64>
// CHECK-NEXT: %[[K:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 16 {
// CHECK-NEXT: memref.load %t[%[[K]], %[[J]]] : memref<9x16xf32>
func.func @gather(%t: memref<9x16xf32>, %i: memref<5xi64>, %y: memref<5x16xf32>) {
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%i : memref<5xi64>) outs(%y : memref<5x16xf32>) {
  ^bb0(%n: i64, %o: f32):
    %k = arith.index_cast %n : i64 to index
    %j = linalg.index 1 : index
    %v = memref.load %t[%k, %j] : memref<9x16xf32>
    linalg.yield %v : f32
  }
  func.return
}

// An index that is a sum of loops, constants and what no loop changes is affine: the access is one, and the sum is gone.
// CHECK-LABEL: func.func @offset
// CHECK: %[[N:.*]] = affine.load %i[] : memref<i64>
// CHECK: %[[K:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK-NOT: arith.addi
// CHECK: affine.for %[[J:.*]] = 0 to 16 {
// CHECK-NEXT: %[[A:.*]] = affine.load %t[symbol(%[[K]]), %[[J]] + 4] : memref<9x32xf32>
// CHECK-NEXT: affine.store %[[A]], %y[%[[J]]]
func.func @offset(%t: memref<9x32xf32>, %i: memref<i64>, %y: memref<16xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%i : memref<i64>) outs(%y : memref<16xf32>) {
  ^bb0(%n: i64, %o: f32):
    %k = arith.index_cast %n : i64 to index
    %j = linalg.index 0 : index
    %c = arith.constant 4 : index
    %p = arith.addi %j, %c : index
    %v = memref.load %t[%k, %p] : memref<9x32xf32>
    linalg.yield %v : f32
  }
  func.return
}

// What is written, too, is read where it is.
// CHECK-LABEL: func.func @both
// CHECK: affine.for %[[J:.*]] = 0 to 16 {
// CHECK: memref.load %y[%[[J]]] : memref<16xf32>
func.func @both(%x: memref<16xf32>, %y: memref<16xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<16xf32>) outs(%y : memref<16xf32>) {
  ^bb0(%n: f32, %o: f32):
    %j = linalg.index 0 : index
    %v = memref.load %y[%j] : memref<16xf32>
    %s = arith.addf %v, %n : f32
    linalg.yield %s : f32
  }
  func.return
}
