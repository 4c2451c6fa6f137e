// RUN: lamina-opt %s -p convert-contraction-to-cta --split-input-file --verify-diagnostics

// expected-error @below {{no memory for 4 parts of a sum (gpu-reserve-partial-sums gives memory to sums that can be cut)}}
func.func private @product(%x: memref<64x256xf32>, %w: memref<256x64xf32>, %v: memref<64xf32>, %y: memref<64x64xf32>) attributes {lamina.kernel = "contraction", cta.schedule = {unit = "fma", rows = 32 : i64, columns = 32 : i64, depth = 16 : i64, down = 4 : i64, across = 4 : i64, stages = 4 : i64, splits = 4 : i64}} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<64x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<64x256xf32>, memref<256x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%v : memref<64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%b: f32, %o: f32):
    %s = arith.addf %o, %b : f32
    linalg.yield %s : f32
  }
  func.return
}
