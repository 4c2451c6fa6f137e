// RUN: lamina-opt %s -p gpu-reserve-partial-sums,plan-arena | filecheck %s
// Four parts of a sum: 4 * 64 * 64 numbers in the arena, given with each call. A kernel whose schedule does not share
// sums stays as it is, and so does one that has its memory.

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
// CHECK: lamina.arena_bytes = 65536
// CHECK: %[[SUMS:.*]] = memref.view %arena{{.*}} to memref<4x64x64xf32>
// CHECK-NEXT: func.call @shared(%x, %w, %y, %[[SUMS]]) : (memref<64x256xf32>, memref<256x64xf32>, memref<64x64xf32>, memref<4x64x64xf32>) -> ()
// CHECK-NEXT: func.call @whole(%x, %w, %y) :
func.func public @main(%x: memref<64x256xf32>, %w: memref<256x64xf32>, %y: memref<64x64xf32>, %constants: memref<0xi8>) {
  func.call @shared(%x, %w, %y) : (memref<64x256xf32>, memref<256x64xf32>, memref<64x64xf32>) -> ()
  func.call @whole(%x, %w, %y) : (memref<64x256xf32>, memref<256x64xf32>, memref<64x64xf32>) -> ()
  func.return
}
// CHECK: func.func private @shared({{.*}}, %sums: memref<4x64x64xf32>) attributes {{{.*}}cta.partial_sums, lamina.scratch = 1 : i64}
func.func private @shared(%x: memref<64x256xf32>, %w: memref<256x64xf32>, %y: memref<64x64xf32>) attributes {lamina.kernel = "contraction", cta.schedule = {unit = "fma", rows = 32 : i64, columns = 32 : i64, depth = 16 : i64, down = 4 : i64, across = 4 : i64, stages = 4 : i64, splits = 4 : i64}} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<64x64xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<64x256xf32>, memref<256x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
// CHECK: func.func private @whole(%x: memref<64x256xf32>, %w: memref<256x64xf32>, %y: memref<64x64xf32>)
func.func private @whole(%x: memref<64x256xf32>, %w: memref<256x64xf32>, %y: memref<64x64xf32>) attributes {lamina.kernel = "contraction", cta.schedule = {unit = "fma", rows = 32 : i64, columns = 32 : i64, depth = 16 : i64, down = 4 : i64, across = 4 : i64, stages = 4 : i64}} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<64x64xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<64x256xf32>, memref<256x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
