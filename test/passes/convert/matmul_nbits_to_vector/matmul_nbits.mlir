// RUN: lamina-opt %s --machine x86-64-avx512 -p convert-matmul-nbits-to-vector | filecheck %s
// RUN: lamina-opt %s --machine aarch64-neon -p 'convert-matmul-nbits-to-vector{rows=2 panels=1}' | filecheck %s --check-prefix SMALL
// RUN: lamina-opt %s --machine x86-64-amx -p convert-matmul-nbits-to-vector | filecheck %s --check-prefix TILES

// One row of bytes: six panels at a time, a word of each unpacked into two vectors of bytes.
// CHECK-LABEL: func.func private @row
// CHECK: affine.parallel
// CHECK: affine.for %{{.*}} = 0 to 64 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-6: memref.prefetch
// CHECK-COUNT-6: affine.vector_load %{{.*}} vector<64xi8>
// CHECK: arith.andi
// CHECK-COUNT-6: dot.product {{.*}} {unsigned_lhs, pairs_fit}
// CHECK: arith.shrui
// CHECK-COUNT-42: dot.product
// CHECK-NOT: dot.product
// CHECK-COUNT-6: arith.sitofp
// CHECK: return

// SMALL-LABEL: func.func private @row
// SMALL: dot.product {{.*}} {pairs_fit} : vector<64xi8>
func.func private @row(%x: memref<64x1x32xi8>, %w: memref<352x256x16x4xi8>, %s: memref<352x64x16xf32>, %z: memref<64x1xi32>, %xs: memref<64x1xf32>, %o: memref<1x5632xf32>) attributes {lamina.kernel = "matmul_nbits"} {
  "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %xs, %o) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}> : (memref<64x1x32xi8>, memref<352x256x16x4xi8>, memref<352x64x16xf32>, memref<64x1xi32>, memref<64x1xf32>, memref<1x5632xf32>) -> ()
  func.return
}

// SMALL-LABEL: func.func private @floats
// SMALL: arith.shrui
// SMALL: arith.andi
// SMALL: arith.sitofp
// SMALL-NOT: permutexvar

// Three rows of floats, 24 columns: the last panel is stored under a mask.
// CHECK-LABEL: func.func private @floats
// CHECK: affine.for
// An element is looked up in a register of floats.
// CHECK: %[[BITS:.*]] = arith.shrui
// CHECK: "x86.permutexvar"(%{{.*}}, %[[BITS]])
// CHECK: vector.fma
// CHECK: vector.constant_mask [8] : vector<16xi1>
// CHECK: vector.maskedstore
func.func private @floats(%x: memref<2x3x32xf32>, %w: memref<2x8x16x4xi8>, %s: memref<2x2x16xf32>, %z: memref<2x3xf32>, %o: memref<3x24xf32>) attributes {lamina.kernel = "matmul_nbits"} {
  "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %o) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}> : (memref<2x3x32xf32>, memref<2x8x16x4xi8>, memref<2x2x16xf32>, memref<2x3xf32>, memref<3x24xf32>) -> ()
  func.return
}

// Many rows of floats: a stretch of 4 blocks of three panels is unpacked for all of them; the sums wait in memory of the
// thread.
// CHECK-LABEL: func.func private @many
// CHECK: affine.parallel
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<6144xf32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<9216xf32>
// CHECK: affine.for %{{.*}} = 0 to 64 step 4
// CHECK: arith.shrui
// CHECK: x86.permutexvar
// CHECK: affine.vector_store
// CHECK: affine.if
// CHECK-COUNT-24: vector.fma
// CHECK: affine.for %{{.*}} = 0 to 32 iter_args
// CHECK-COUNT-24: vector.fma
// CHECK-NOT: vector.fma
func.func private @many(%x: memref<64x160x32xf32>, %w: memref<352x256x16x4xi8>, %s: memref<352x64x16xf32>, %z: memref<64x160xf32>, %o: memref<160x5632xf32>) attributes {lamina.kernel = "matmul_nbits"} {
  "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %o) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}> : (memref<64x160x32xf32>, memref<352x256x16x4xi8>, memref<352x64x16xf32>, memref<64x160xf32>, memref<160x5632xf32>) -> ()
  func.return
}

// Many rows of bfloat16: panels become tiles of pairs of k, both bits of a pair in one vector, which one instruction
// rounds; each strip of 32 rows takes them from there, and its sums wait beside.
// TILES-LABEL: func.func private @tiles
// TILES: affine.parallel
// TILES-DAG: memref.alloca() {alignment = 64 : i64} : memref<65536xbf16>
// TILES-DAG: memref.alloca() {alignment = 64 : i64} : memref<5120xf32>
// TILES: affine.for %{{.*}} = 0 to 64 step 64
// TILES-COUNT-4: vector.shuffle
// TILES: affine.for %{{.*}} = 0 to 4
// TILES: arith.shrui
// TILES: x86.permutexvar
// TILES: arith.mulf
// TILES: "x86.cvtneps_pbh"(%{{.*}}) : (vector<32xf32>) -> vector<32xbf16>
// TILES-COUNT-4: amx.tile_load {{.*}} into !amx.tile<16x16xf32>
// TILES: affine.for
// TILES: amx.tile_load {{.*}} into !amx.tile<16x32xbf16>
// TILES: amx.tile_load {{.*}} into !amx.tile<16x32xbf16>
// TILES: amx.tile_mulf
// TILES-COUNT-3: amx.tile_mulf
// TILES-COUNT-4: amx.tile_store
// TILES-NOT: amx.tile_mulf
func.func private @tiles(%x: memref<64x160x32xbf16>, %w: memref<352x256x16x4xi8>, %s: memref<352x64x16xf32>, %o: memref<160x5632xf32>) attributes {lamina.kernel = "matmul_nbits"} {
  "linalg_ext.matmul_nbits"(%x, %w, %s, %o) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}> : (memref<64x160x32xbf16>, memref<352x256x16x4xi8>, memref<352x64x16xf32>, memref<160x5632xf32>) -> ()
  func.return
}
