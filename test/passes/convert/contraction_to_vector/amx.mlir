// RUN: lamina-opt %s -p convert-contraction-to-vector --machine x86-64-amx | filecheck %s

// Two strips of 32 rows: their rows are copied into tiles of 64 bytes a row, then each panel of B meets both; a strip
// asks for half of the next panel. The bias is added from what lies beside the tile.

func.func private @copied(%x: memref<64x128xbf16>, %w: memref<3x64x32x2xbf16>, %e: memref<96xf32>, %y: memref<64x96xf32>,
                          %copies: memref<8224xbf16>)
    attributes {lamina.kernel = "contraction", lamina.copies, lamina.schedule = "rows=32 ahead=2 copy=1"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<64x96xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n floordiv 32, k floordiv 2, n mod 32, k mod 2)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<64x128xbf16>, memref<3x64x32x2xbf16>) outs(%y : memref<64x96xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %u = arith.extf %l : bf16 to f32
    %v = arith.extf %r : bf16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%e : memref<96xf32>) outs(%y : memref<64x96xf32>) {
  ^bb0(%b: f32, %t: f32):
    %d = arith.addf %t, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// CHECK-LABEL: func.func private @copied
// CHECK:         %[[ZEROS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xf32>
// CHECK:         %[[SUMS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
// CHECK:         affine.for %{{.*}} = 0 to 2 {
// CHECK:           affine.for %[[K:.*]] = 0 to 128 step 32 {
// CHECK-NEXT:        %[[R0:.*]] = affine.vector_load {{.*}} : memref<8192xbf16>, vector<32xbf16>
// CHECK-NEXT:        affine.vector_store %[[R0]], %copies[%[[STRIP:.*]] + %[[K]] * 32]
// CHECK-NEXT:        %[[R1:.*]] = affine.vector_load {{.*}} + 128] : memref<8192xbf16>, vector<32xbf16>
// CHECK-NEXT:        affine.vector_store %[[R1]], %copies[%[[STRIP]] + %[[K]] * 32 + 32]
// CHECK:         affine.for %{{.*}} = 0 to 3 {
// CHECK-NEXT:      affine.for %{{.*}} = 0 to 2 {
// CHECK-COUNT-4:     amx.tile_load %[[ZEROS]]{{.*}} : memref<64xf32> into !amx.tile<16x16xf32>
// CHECK:             affine.for %{{.*}} = 0 to 128 step 32 iter_args
// CHECK-COUNT-16:      memref.prefetch
// CHECK-NOT:           memref.prefetch
// CHECK:               amx.tile_load %copies{{.*}} {nontemporal}
// CHECK:               amx.tile_load {{.*}} : memref<12288xbf16> into !amx.tile<16x32xbf16>
// CHECK:               amx.tile_mulf
// CHECK:               amx.tile_load {{.*}} : memref<12288xbf16> into !amx.tile<16x32xbf16>
// CHECK:               amx.tile_mulf
// CHECK:               amx.tile_load %copies{{.*}} {nontemporal}
// CHECK-COUNT-2:       amx.tile_mulf
// CHECK-COUNT-4:     amx.tile_store %[[SUMS]]
// CHECK:             affine.for %[[ROW:.*]] = 0 to 32 {
// CHECK:               affine.vector_load %[[SUMS]][%[[ROW]] * 32] : memref<1024xf32>, vector<32xf32>
// CHECK:               arith.addf
// CHECK-NEXT:          affine.vector_store

// Rows that are no multiple of a tile overlap, columns beyond the last are computed and not stored.

// CHECK-LABEL: func.func private @ragged
// CHECK:         affine.for
// CHECK:           amx.tile_load {{.*}} : memref<1088xi8> into !amx.tile<16x64xi8>
// CHECK:           amx.tile_load {{.*}} : memref<2048xi8> into !amx.tile<16x64xi8>
// CHECK:           affine.apply {{.*}} + 64
// CHECK:           amx.tile_load {{.*}} : memref<1088xi8> into !amx.tile<16x64xi8>
// CHECK-NOT:       amx.tile_load
// CHECK:           affine.for %{{.*}} = 0 to 17 {
// CHECK:             vector.maskedstore
func.func private @ragged(%x: memref<17x64xi8>, %w: memref<1x16x32x4xi8>, %y: memref<17x9xi32>)
    attributes {lamina.kernel = "contraction", lamina.schedule = "rows=32"} {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%y : memref<17x9xi32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n floordiv 32, k floordiv 4, n mod 32, k mod 4)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<17x64xi8>, memref<1x16x32x4xi8>) outs(%y : memref<17x9xi32>) {
  ^bb0(%l: i8, %r: i8, %o: i32):
    %u = arith.extui %l : i8 to i32
    %v = arith.extsi %r : i8 to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  }
  func.return
}

// Blocks of k inside of panels: the first begins the sums of both strips, the others go on where they wait, the last one
// is shorter and ends them. A strip asks for half of the next block.

// CHECK-LABEL: func.func private @blocks
// CHECK:         %[[ZEROS:.*]] = memref.alloca() {{.*}} : memref<64xf32>
// CHECK:         %[[SUMS:.*]] = memref.alloca() {{.*}} : memref<2048xf32>
// CHECK:         affine.for %[[PANEL:.*]] = 0 to 3 {
// CHECK:           affine.for %[[STRIP:.*]] = 0 to 2 {
// CHECK:             affine.min affine_map<(d0, d1, d2) -> ((((d0 * 7168) + 2048) + ((d1 * 1024) + (d2 * 1024))), 19456)>
// CHECK-COUNT-4:     amx.tile_load %[[ZEROS]]
// CHECK:             affine.for %{{.*}} = affine_map<(d0) -> ((d0 * 64))>(%[[B:.*]]) to affine_map<(d0) -> (((d0 * 64) + 64))>(%[[B]]) step 32
// CHECK-COUNT-16:      memref.prefetch {{.*}}, read, locality<2>
// CHECK-COUNT-4:     amx.tile_store %[[SUMS]]
// CHECK-NOT:         affine.vector_store
// CHECK:           affine.for %[[MIDDLE:.*]] = 1 to 3 {
// CHECK-NEXT:        affine.for %{{.*}} = 0 to 2 {
// CHECK-COUNT-4:       amx.tile_load %[[SUMS]]
// CHECK:               affine.for %{{.*}} = affine_map<(d0) -> ((d0 * 64))>(%[[MIDDLE]]) to affine_map<(d0) -> (((d0 * 64) + 64))>(%[[MIDDLE]]) step 32
// CHECK-COUNT-4:       amx.tile_store %[[SUMS]]
// CHECK-NOT:           affine.vector_store
// CHECK:           affine.for %{{.*}} = 0 to 2 {
// CHECK-COUNT-4:     amx.tile_load %[[SUMS]]
// CHECK:             affine.for %{{.*}} = affine_map<(d0) -> ((d0 * 64))>(%[[L:.*]]) to affine_map<(d0) -> (((d0 * 64) + 32))>(%[[L]]) step 32
// CHECK-COUNT-4:     amx.tile_store %[[SUMS]]
// CHECK:             affine.for %{{.*}} = 0 to 32 {
// CHECK:               affine.vector_store
func.func private @blocks(%x: memref<64x224xbf16>, %w: memref<3x112x32x2xbf16>, %e: memref<96xf32>, %y: memref<64x96xf32>)
    attributes {lamina.kernel = "contraction", lamina.schedule = "rows=32 depth=64 ahead=2"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<64x96xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n floordiv 32, k floordiv 2, n mod 32, k mod 2)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<64x224xbf16>, memref<3x112x32x2xbf16>) outs(%y : memref<64x96xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %u = arith.extf %l : bf16 to f32
    %v = arith.extf %r : bf16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%e : memref<96xf32>) outs(%y : memref<64x96xf32>) {
  ^bb0(%b: f32, %t: f32):
    %d = arith.addf %t, %b : f32
    linalg.yield %d : f32
  }
  func.return
}

// Of a window rows are as far apart as pixels of one row of the image: tiles of 14 of 28, two of them a strip, that begin
// where their pixels do. All of k fits: 16 channels of three columns are two tiles of 24. Neighbours read the same rows
// of A, which stay in L1.

// CHECK-LABEL: func.func private @window
// CHECK:         affine.for %[[STRIP:.*]] = 0 to 4 {
// CHECK-COUNT-4:   amx.tile_load {{.*}} : memref<64xf32> into !amx.tile<14x16xf32>
// CHECK:           affine.for %[[R:.*]] = 0 to 3 iter_args
// CHECK-NEXT:        affine.for %[[K:.*]] = 0 to 48 step 24 iter_args
// CHECK:               amx.tile_load %{{[0-9]+}}[%{{.*}}], %{{.*}} : memref<2880xbf16> into !amx.tile<14x24xbf16>
// CHECK:               amx.tile_load {{.*}} : memref<4608xbf16> into !amx.tile<12x32xbf16>
// CHECK-COUNT-4:       amx.tile_mulf {{.*}} : !amx.tile<14x24xbf16>, !amx.tile<12x32xbf16>, !amx.tile<14x16xf32>
// CHECK:           affine.yield
// CHECK-COUNT-4:   amx.tile_store %{{.*}}, %{{.*}} : memref<3584xf32>, !amx.tile<14x16xf32>
func.func private @window(%x: memref<6x30x16xbf16>, %w: memref<1x3x3x8x32x2xbf16>, %y: memref<4x28x32xf32>)
    attributes {lamina.kernel = "contraction", lamina.schedule = "rows=28"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<4x28x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(y, x, n, r, s, c) -> (y + r, x + s, c)>,
      affine_map<(y, x, n, r, s, c) -> (n floordiv 32, r, s, c floordiv 2, n mod 32, c mod 2)>,
      affine_map<(y, x, n, r, s, c) -> (y, x, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<6x30x16xbf16>, memref<1x3x3x8x32x2xbf16>) outs(%y : memref<4x28x32xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %u = arith.extf %l : bf16 to f32
    %v = arith.extf %r : bf16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
