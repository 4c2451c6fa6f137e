// RUN: lamina-opt %s -p convert-contraction-to-cta --split-input-file --verify-diagnostics

// expected-error @below {{no memory for 4 parts of a sum (gpu-reserve-partial-sums gives memory to sums that can be cut)}}
func.func private @product(
// CHECK: cta.program {sizes = array<i64: 4, 64, 64>, tile = array<i64: 1, 32, 32>, schedule = {{.*}}splits = 4 : i64
// CHECK: cta.view %x : memref<64x256xf32> to !cta.view<f32, (4,64,64):(64,256,1)>
// CHECK: cta.view %w : memref<256x64xf32> to !cta.view<f32, (4,64,64):(4096,64,1)>
// CHECK: cta.view %{{.*}} : memref<4x64x64xf32> to !cta.view<f32, (4,64,64):(4096,64,1)>
// CHECK: affine.for %k = 0 to 64 step 16
// CHECK-NOT: cta.map
// CHECK: cta.store
// CHECK: func.func private @product_sums({{.*}}) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00
// CHECK-NEXT: linalg.fill ins(%[[ZERO]] : f32) outs(%y
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}} : memref<4x64x64xf32>) outs(%y
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}} ins(%v
func.func public @main(%x: memref<64x256xf32>, %w: memref<256x64xf32>, %v: memref<64xf32>, %y: memref<64x64xf32>, %constants: memref<0xi8>) {
  func.call @product(%x, %w, %v, %y) : (memref<64x256xf32>, memref<256x64xf32>, memref<64xf32>, memref<64x64xf32>) -> ()
  func.return
}
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
