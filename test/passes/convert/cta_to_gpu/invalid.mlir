// RUN: lamina-opt %s -p "convert-contraction-to-cta{unit=wgmma},cta-pipeline,convert-cta-to-gpu" --verify-diagnostics

// Of images of three channels no 16 bytes are neighbours in every window.
func.func private @convolution(%x: memref<1x12x12x3xbf16>, %w: memref<3x3x3x64xbf16>, %y: memref<1x10x10x64xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x10x10x64xf32>)
  // expected-error @+1 {{warpgroups take pieces of 16 bytes, not what !cta.view<bf16, (1,(10,10),(9,3)):(0,(3,36),(1,36))> has}}
  linalg.generic {indexing_maps = [affine_map<(b, h, w, o, i, j, c) -> (b, h + i, w + j, c)>, affine_map<(b, h, w, o, i, j, c) -> (i, j, c, o)>, affine_map<(b, h, w, o, i, j, c) -> (b, h, w, o)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%x, %w : memref<1x12x12x3xbf16>, memref<3x3x3x64xbf16>) outs(%y : memref<1x10x10x64xf32>) {
  ^bb0(%l: bf16, %r: bf16, %acc: f32):
    %lw = arith.extf %l : bf16 to f32
    %rw = arith.extf %r : bf16 to f32
    %p = arith.mulf %lw, %rw : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
