// RUN: lamina-opt %s -p reserve-copies,plan-arena | filecheck %s
// Two tasks of two strips of four rows each, blocks of k of 32 rounds: 2 * (2 * 4 * 32 + 16) elements in the arena, given
// with each call. A kernel whose schedule copies nothing stays as it is.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1 floordiv 16, d2, d1 mod 16)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: lamina.arena_bytes = 2176
// CHECK: %[[COPIES:.*]] = memref.view %arena{{.*}} to memref<544xf32>
// CHECK-NEXT: func.call @copying(%x, %w, %y, %[[COPIES]]) : (memref<16x64xf32>, memref<64x64x16xf32>, memref<16x1024xf32>, memref<544xf32>) -> ()
// CHECK-NEXT: func.call @in_place(%x, %w, %y) :
func.func public @main(%x: memref<16x64xf32>, %w: memref<64x64x16xf32>, %y: memref<16x1024xf32>, %constants: memref<0xi8>) {
  func.call @copying(%x, %w, %y) : (memref<16x64xf32>, memref<64x64x16xf32>, memref<16x1024xf32>) -> ()
  func.call @in_place(%x, %w, %y) : (memref<16x64xf32>, memref<64x64x16xf32>, memref<16x1024xf32>) -> ()
  func.return
}
// CHECK: func.func private @copying({{.*}}, %copies: memref<544xf32>) attributes {{{.*}}lamina.copies, lamina.scratch = 1 : i64}
func.func private @copying(%x: memref<16x64xf32>, %w: memref<64x64x16xf32>, %y: memref<16x1024xf32>) attributes {lamina.kernel = "contraction", lamina.schedule = "rows=4 row_blocks=2 depth=32 copy=1"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<16x1024xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<16x64xf32>, memref<64x64x16xf32>) outs(%y : memref<16x1024xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK: func.func private @in_place(%x: memref<16x64xf32>, %w: memref<64x64x16xf32>, %y: memref<16x1024xf32>)
func.func private @in_place(%x: memref<16x64xf32>, %w: memref<64x64x16xf32>, %y: memref<16x1024xf32>) attributes {lamina.kernel = "contraction", lamina.schedule = "rows=4 row_blocks=2 depth=32 copy=0"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<16x1024xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<16x64xf32>, memref<64x64x16xf32>) outs(%y : memref<16x1024xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
