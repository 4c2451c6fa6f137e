// RUN: lamina-opt %s -p convert-contraction-to-vector --machine x86-64-amx | filecheck %s

// What comes of sums of pairs of bfloat16 may be rounded as pairs take it; what is beside them is rounded as it is.

func.func private @pairs(%x: memref<32x64xbf16>, %w: memref<1x32x32x2xbf16>, %e: memref<32x32xf32>,
                         %y: memref<32x32xf32>, %a: memref<32x32xbf16>, %b: memref<32x32xbf16>)
    attributes {lamina.kernel = "contraction", lamina.schedule = "rows=32"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<32x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n floordiv 32, k floordiv 2, n mod 32, k mod 2)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<32x64xbf16>, memref<1x32x32x2xbf16>) outs(%y : memref<32x32xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %u = arith.extf %l : bf16 to f32
    %v = arith.extf %r : bf16 to f32
    %p = arith.mulf %u, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>,
      affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%y, %e : memref<32x32xf32>, memref<32x32xf32>) outs(%a, %b : memref<32x32xbf16>, memref<32x32xbf16>) {
  ^bb0(%t: f32, %beside: f32, %f: bf16, %g: bf16):
    %d = arith.addf %t, %beside : f32
    %c = arith.truncf %d : f32 to bf16
    %h = arith.truncf %beside : f32 to bf16
    linalg.yield %c, %h : bf16, bf16
  }
  func.return
}

// CHECK-LABEL: func.func private @pairs
// CHECK:         [[SUM:%[0-9]+]] = arith.addf
// CHECK-NEXT:    arith.truncf [[SUM]] {flushes} : vector<32xf32> to vector<32xbf16>
// CHECK-NEXT:    arith.truncf %{{[0-9]+}} : vector<32xf32> to vector<32xbf16>

// Single numbers are multiplied exactly: a sum of theirs that is subnormal is rounded as it is.

func.func private @singly(%x: memref<32x64xf32>, %w: memref<1x64x32xf32>, %y: memref<32x32xf32>, %a: memref<32x32xbf16>)
    attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<32x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n floordiv 32, k, n mod 32)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<32x64xf32>, memref<1x64x32xf32>) outs(%y : memref<32x32xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%y : memref<32x32xf32>) outs(%a : memref<32x32xbf16>) {
  ^bb0(%t: f32, %f: bf16):
    %c = arith.truncf %t : f32 to bf16
    linalg.yield %c : bf16
  }
  func.return
}

// CHECK-LABEL: func.func private @singly
// CHECK-NOT:     flushes
// CHECK:         arith.truncf
// CHECK-NOT:     flushes
// CHECK:         func.return
