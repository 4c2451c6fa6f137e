// RUN: lamina-opt %s -p gpu-reserve-partial-sums,convert-contraction-to-cta --split-input-file | filecheck %s

// Each part of the sum is one product more of the batch; a second kernel adds the parts and does what follows.
// CHECK: func.call @product(%x, %w, %v, %y, %[[SUMS:.*]]) :
// CHECK-NEXT: func.call @product_sums(%x, %w, %v, %y, %[[SUMS]]) :
// CHECK: func.func private @product(
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

// -----

// A convolution whose image is padded: windows are cut between their lines; borders go along.
// CHECK: cta.view %x : memref<1x4x4x8xf32> to !cta.view<f32, (3,16,24):(32,8,1) from -40, #cta.border<(3,(4,4),24):(1,(0,1),0) from -1 below 4>, #cta.border<(3,(4,4),(8,3)):(0,(1,0),(0,1)) from -1 below 4>>
// CHECK: func.func private @windows_sums(
// CHECK-NOT: memref.subview
// CHECK: func.return
func.func private @windows(%x: memref<1x4x4x8xf32>, %w: memref<3x3x8x32xf32>, %y: memref<1x4x4x32xf32>, %padded: memref<1x6x6x8xf32>) attributes {lamina.kernel = "contraction", lamina.scratch = 1 : i64, cta.schedule = {unit = "fma", rows = 32 : i64, columns = 32 : i64, depth = 16 : i64, down = 4 : i64, across = 4 : i64, stages = 4 : i64, splits = 3 : i64}} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%padded : memref<1x6x6x8xf32>)
  %inside = memref.subview %padded[0, 1, 1, 0] [1, 4, 4, 8] [1, 1, 1, 1] : memref<1x6x6x8xf32> to memref<1x4x4x8xf32, strided<[288, 48, 8, 1], offset: 56>>
  linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<1x4x4x8xf32>) outs(%inside : memref<1x4x4x8xf32, strided<[288, 48, 8, 1], offset: 56>>) {
  ^bb0(%e: f32, %o: f32):
    linalg.yield %e : f32
  }
  linalg.fill ins(%zero : f32) outs(%y : memref<1x4x4x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, p, q, o, h, w, c) -> (n, p + h, q + w, c)>, affine_map<(n, p, q, o, h, w, c) -> (h, w, c, o)>, affine_map<(n, p, q, o, h, w, c) -> (n, p, q, o)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%padded, %w : memref<1x6x6x8xf32>, memref<3x3x8x32xf32>) outs(%y : memref<1x4x4x32xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
