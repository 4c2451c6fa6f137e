// RUN: lamina-opt %s -p linalg-schedule-contractions | filecheck %s
// RUN: printf '[contractions]\n"matmul f32 m13 n100 k64" = "rows=4 row_blocks=3"\n' > %t.schedules
// RUN: lamina-opt %s --schedules %t.schedules -p linalg-schedule-contractions | filecheck %s --check-prefix GIVEN
// A kernel's problem has a name that neither values nor panels have a part in.

#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1 floordiv 16, d2, d1 mod 16)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: @matmul{{.*}}lamina.kernel = "contraction", lamina.problem = "matmul f32 m13 n100 k64", lamina.schedule = "rows=6 panels=1
// GIVEN: @matmul{{.*}}lamina.schedule = "rows=4 panels=1 row_blocks=3 panel_blocks=1
func.func private @matmul(%x: memref<13x64xf32>, %w: memref<7x64x16xf32>, %y: memref<13x100xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<13x100xf32>)
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<13x64xf32>, memref<7x64x16xf32>) outs(%y : memref<13x100xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

#heads_a = affine_map<(h, m, n, k) -> (m, h, k)>
#heads_b = affine_map<(h, m, n, k) -> (k, h, n)>
#heads_c = affine_map<(h, m, n, k) -> (m, h, n)>
// CHECK: @heads{{.*}}lamina.problem = "matmul bf16 b3 m11 n37 k20 a=m0,b0,k0 c=m0,b0,n0 b=in-place"
func.func private @heads(%x: memref<11x3x20xbf16>, %w: memref<20x3x37xbf16>, %y: memref<11x3x37xbf16>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : bf16
  linalg.fill ins(%zero : bf16) outs(%y : memref<11x3x37xbf16>)
  linalg.generic {indexing_maps = [#heads_a, #heads_b, #heads_c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<11x3x20xbf16>, memref<20x3x37xbf16>) outs(%y : memref<11x3x37xbf16>) {
  ^bb0(%l: bf16, %r: bf16, %o: bf16):
    %p = arith.mulf %l, %r : bf16
    %s = arith.addf %o, %p : bf16
    linalg.yield %s : bf16
  }
  func.return
}

#conv_a = affine_map<(n, oh, ow, f, kh, kw, c) -> (n, oh * 2 + kh, ow * 2 + kw, c)>
#conv_b = affine_map<(n, oh, ow, f, kh, kw, c) -> (f floordiv 16, kh, kw, c, f mod 16)>
#conv_c = affine_map<(n, oh, ow, f, kh, kw, c) -> (n, oh, ow, f)>
// CHECK: @conv{{.*}}lamina.problem = "conv f32 m7x6 n24 k3x3x5 a=2m0+k0,2m1+k1,k2"
func.func private @conv(%x: memref<1x15x13x5xf32>, %w: memref<2x3x3x5x16xf32>, %y: memref<1x7x6x24xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x7x6x24xf32>)
  linalg.generic {indexing_maps = [#conv_a, #conv_b, #conv_c], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : memref<1x15x13x5xf32>, memref<2x3x3x5x16xf32>) outs(%y : memref<1x7x6x24xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// What cannot be tiled has neither; a schedule that stands in the IR already stays.
// CHECK: @sum{{.*}}attributes {lamina.kernel = "contraction"}
func.func private @sum(%x: memref<4xf32>, %y: memref<4xf32>) attributes {lamina.kernel = "contraction"} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%l: f32, %o: f32):
    linalg.yield %l : f32
  }
  func.return
}
