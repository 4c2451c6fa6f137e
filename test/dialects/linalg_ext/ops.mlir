// RUN: lamina-opt %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<12x64x32xf32>, %k: tensor<4x50x32xf32>, %v: tensor<4x50x8xf32>, %m: tensor<64x50xf32>, %t: tensor<12x64x8xf32>) -> tensor<12x64x8xf32> {
  // CHECK: "linalg_ext.attention"(%q, %k, %v, %m, %t) <{causal = 3 : i64, indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d3)>
  // CHECK-SAME: zero_undefined
  // CHECK-NEXT: ^{{.*}}(%{{.*}}: f32, %{{.*}}: f32):
  // CHECK: "linalg_ext.yield"
  // CHECK: -> tensor<12x64x8xf32>
  %o = "linalg_ext.attention"(%q, %k, %v, %m, %t) <{causal = 3 : i64, indexing_maps = [
      affine_map<(h, g, m, d, s, n) -> (h, m, d)>, affine_map<(h, g, m, d, s, n) -> (g, s, d)>,
      affine_map<(h, g, m, d, s, n) -> (g, s, n)>, affine_map<(h, g, m, d, s, n) -> (m, s)>,
      affine_map<(h, g, m, d, s, n) -> (h, m, n)>], operandSegmentSizes = array<i32: 4, 1>, zero_undefined}> ({
  ^bb0(%s: f32, %b: f32):
    %r = arith.addf %s, %b : f32
    "linalg_ext.yield"(%r) : (f32) -> ()
  }) : (tensor<12x64x32xf32>, tensor<4x50x32xf32>, tensor<4x50x8xf32>, tensor<64x50xf32>, tensor<12x64x8xf32>) -> tensor<12x64x8xf32>
  func.return %o : tensor<12x64x8xf32>
}

// Of 16 bits, what the body reads and the output may be as narrow.
// CHECK-LABEL: func.func @halves
func.func @halves(%q: tensor<64x32xbf16>, %k: tensor<50x32xbf16>, %v: tensor<50x8xbf16>, %m: tensor<64x50xbf16>, %t: tensor<64x8xbf16>) -> tensor<64x8xbf16> {
  // CHECK: ^{{.*}}(%{{.*}}: f32, %[[M:.*]]: bf16):
  // CHECK-NEXT: arith.extf %[[M]]
  // CHECK: -> tensor<64x8xbf16>
  %o = "linalg_ext.attention"(%q, %k, %v, %m, %t) <{indexing_maps = [
      affine_map<(m, d, s, n) -> (m, d)>, affine_map<(m, d, s, n) -> (s, d)>, affine_map<(m, d, s, n) -> (s, n)>,
      affine_map<(m, d, s, n) -> (m, s)>, affine_map<(m, d, s, n) -> (m, n)>], operandSegmentSizes = array<i32: 4, 1>}> ({
  ^bb0(%s: f32, %b: bf16):
    %w = arith.extf %b : bf16 to f32
    %r = arith.addf %s, %w : f32
    "linalg_ext.yield"(%r) : (f32) -> ()
  }) : (tensor<64x32xbf16>, tensor<50x32xbf16>, tensor<50x8xbf16>, tensor<64x50xbf16>, tensor<64x8xbf16>) -> tensor<64x8xbf16>
  func.return %o : tensor<64x8xbf16>
}

// Weights of four bits and rows of floats, or of bytes with scales.
// CHECK-LABEL: func.func @few_bits
func.func @few_bits(%x: tensor<8x3x32xf32>, %b: tensor<8x3x32xi8>, %w: tensor<2x32x16x4xui8>, %s: tensor<2x8x16xf32>, %z: tensor<8x3xf32>, %y: tensor<8x3xi32>, %t: tensor<3x24xf32>) -> (tensor<3x24xf32>, tensor<3x24xf32>) {
  // CHECK: "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %t) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}>
  %0 = "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %t) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}>
      : (tensor<8x3x32xf32>, tensor<2x32x16x4xui8>, tensor<2x8x16xf32>, tensor<8x3xf32>, tensor<3x24xf32>) -> tensor<3x24xf32>
  // CHECK: "linalg_ext.matmul_nbits"(%b, %w, %s, %y, %z, %t)
  %1 = "linalg_ext.matmul_nbits"(%b, %w, %s, %y, %z, %t) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>}>
      : (tensor<8x3x32xi8>, tensor<2x32x16x4xui8>, tensor<2x8x16xf32>, tensor<8x3xi32>, tensor<8x3xf32>, tensor<3x24xf32>) -> tensor<3x24xf32>
  func.return %0, %1 : tensor<3x24xf32>, tensor<3x24xf32>
}
