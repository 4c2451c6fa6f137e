// RUN: lamina-opt %s -p convert-contraction-to-vector | filecheck %s
// RUN: lamina-opt %s -p 'convert-contraction-to-vector{schedule="rows=7 unroll=2"}' | filecheck %s --check-prefix=GIVEN
// A 3x3 convolution of stride 2: the rows of the tile are windows, each with its own beginning; the loops over the
// window's columns and the channels are one, since they are contiguous.

#a = affine_map<(n, oh, ow, f, kh, kw, c) -> (n, oh * 2 + kh, ow * 2 + kw, c)>
#b = affine_map<(n, oh, ow, f, kh, kw, c) -> (f floordiv 16, kh, kw, c, f mod 16)>
#c = affine_map<(n, oh, ow, f, kh, kw, c) -> (n, oh, ow, f)>
// CHECK-LABEL: func.func private @conv
// CHECK: %[[FIRST:.*]] = affine.apply affine_map<(d0) -> ((((d0 floordiv 7) * 256) + ((d0 mod 7) * 16)))> (%{{.*}})
// CHECK-NEXT: affine.apply affine_map<(d0) -> (((((d0 + 1) floordiv 7) * 256) + (((d0 + 1) mod 7) * 16)))> (%{{.*}})
// CHECK: affine.for %[[KH:.*]] = 0 to 3 iter_args
// CHECK-NEXT: affine.for %[[KWC:.*]] = 0 to 24 iter_args
// CHECK-NEXT: affine.vector_load %{{.*}}[%{{.*}} + %[[KH]] * 384 + %[[KWC]] * 16] : memref<2304xf32>, vector<16xf32>
// CHECK-NEXT: affine.load %{{.*}}[%[[FIRST]] + %[[KH]] * 128 + %[[KWC]]] : memref<2048xf32>
// GIVEN: lamina.schedule = "rows=7 panels=1 row_blocks=1 panel_blocks=1 unroll=2 depth=0 ahead=0 copy=0"
// GIVEN: affine.for %{{.*}} = 0 to 24 iter_args
// GIVEN: lamina.unroll = 2 : i64
func.func private @conv(%x: memref<1x16x16x8xf32>, %w: memref<2x3x3x8x16xf32>, %y: memref<1x7x7x32xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x7x7x32xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<1x16x16x8xf32>, memref<2x3x3x8x16xf32>) outs(%y : memref<1x7x7x32xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
