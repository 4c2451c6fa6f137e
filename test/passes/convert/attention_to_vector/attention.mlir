// RUN: lamina-opt %s -p convert-attention-to-vector | filecheck %s
// RUN: lamina-opt %s -p 'convert-attention-to-vector{block=12}' | filecheck %s --check-prefix BLOCKS

// Tiles of two vectors of queries; six keys and six columns at a time.
// CHECK-LABEL: func.func private @plain
// CHECK: affine.parallel
// CHECK-DAG: %[[QUERY:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<2048xf32>
// The queries change places with the depth, in squares of eight.
// CHECK: affine.vector_load
// CHECK: vector.shuffle
// CHECK: affine.vector_store %{{.*}}, %[[QUERY]]
// Scores: the highest of each query is carried, and no key is compared with the query.
// CHECK-NOT: arith.cmpi
// CHECK: affine.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-12: vector.fma
// CHECK-NEXT: affine.yield
// CHECK-NEXT: } {lamina.unroll = 4 : i64}
// CHECK-NOT: math.exp
// CHECK: arith.mulf
// Weights and their sums.
// CHECK-COUNT-2: math.exp %{{.*}} {weight}
// Values.
// CHECK-COUNT-12: vector.fma
// CHECK-NOT: vector.fma
// CHECK-NOT: math.exp
// CHECK: vector.shuffle
// CHECK: return

// BLOCKS-LABEL: func.func private @plain
// The whole blocks: weights, and what remains of former sums.
// BLOCKS: affine.for %{{.*}} = 0 to 120 step 12 iter_args(
// BLOCKS-COUNT-4: math.exp
// BLOCKS-NOT: math.exp
// The last one.
// BLOCKS: affine.yield
// BLOCKS-COUNT-4: math.exp
// BLOCKS: return
func.func private @plain(%q: memref<12x128x64xf32>, %k: memref<12x128x64xf32>, %v: memref<12x128x64xf32>, %o: memref<12x128x64xf32>) attributes {lamina.kernel = "attention"} {
  "linalg_ext.attention"(%q, %k, %v, %o) <{indexing_maps = [
      affine_map<(h, m, d, s, n) -> (h, m, d)>, affine_map<(h, m, d, s, n) -> (h, s, d)>,
      affine_map<(h, m, d, s, n) -> (h, s, n)>, affine_map<(h, m, d, s, n) -> (h, m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32):
    %c = arith.constant 1.250000e-01 : f32
    %r = arith.mulf %s, %c : f32
    "linalg_ext.yield"(%r) : (f32) -> ()
  }) : (memref<12x128x64xf32>, memref<12x128x64xf32>, memref<12x128x64xf32>, memref<12x128x64xf32>) -> ()
  func.return
}

// A causal tile ends with the keys that its last query sees.
// CHECK-LABEL: func.func private @causal
// CHECK: affine.min affine_map<(d0) -> (d0, 128)>
// CHECK: affine.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>)
// CHECK: arith.cmpi sle
// CHECK: arith.select
func.func private @causal(%q: memref<12x128x64xf32>, %k: memref<12x128x64xf32>, %v: memref<12x128x64xf32>, %o: memref<12x128x64xf32>) attributes {lamina.kernel = "attention"} {
  "linalg_ext.attention"(%q, %k, %v, %o) <{causal = 0 : i64, indexing_maps = [
      affine_map<(h, m, d, s, n) -> (h, m, d)>, affine_map<(h, m, d, s, n) -> (h, s, d)>,
      affine_map<(h, m, d, s, n) -> (h, s, n)>, affine_map<(h, m, d, s, n) -> (h, m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (memref<12x128x64xf32>, memref<12x128x64xf32>, memref<12x128x64xf32>, memref<12x128x64xf32>) -> ()
  func.return
}

// Twenty queries: a tile of two vectors for each head, then one of a single vector, which begins with the twelfth.
// CHECK-LABEL: func.func private @rest
// CHECK: affine.parallel (%[[T:.*]]) = (0) to (12)
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
// CHECK: affine.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>)
// CHECK: affine.parallel (%[[L:.*]]) = (0) to (12)
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<512xf32>
// CHECK: arith.constant 12 : index
// CHECK: affine.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>) {
// CHECK-NOT: affine.parallel
// CHECK: return
func.func private @rest(%q: memref<12x20x64xf32>, %k: memref<12x128x64xf32>, %v: memref<12x128x64xf32>, %o: memref<12x20x64xf32>) attributes {lamina.kernel = "attention"} {
  "linalg_ext.attention"(%q, %k, %v, %o) <{indexing_maps = [
      affine_map<(h, m, d, s, n) -> (h, m, d)>, affine_map<(h, m, d, s, n) -> (h, s, d)>,
      affine_map<(h, m, d, s, n) -> (h, s, n)>, affine_map<(h, m, d, s, n) -> (h, m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (memref<12x20x64xf32>, memref<12x128x64xf32>, memref<12x128x64xf32>, memref<12x20x64xf32>) -> ()
  func.return
}
