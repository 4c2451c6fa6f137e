// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @f(%q: tensor<4x2xf32>, %k: tensor<5x2xf32>, %t: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{expected query, key, value and one output, each with a map (C1)}}
  %o = "linalg_ext.attention"(%q, %k, %t) <{indexing_maps = [affine_map<(m, d, s, n) -> (m, d)>, affine_map<(m, d, s, n) -> (s, d)>, affine_map<(m, d, s, n) -> (m, n)>], operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (tensor<4x2xf32>, tensor<5x2xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %o : tensor<4x3xf32>
}

// -----

func.func @f(%q: tensor<4x2xf64>, %k: tensor<5x2xf64>, %v: tensor<5x3xf64>, %t: tensor<4x3xf64>) -> tensor<4x3xf64> {
  // expected-error@+1 {{expected query, key and value of one float type, not of 64 bits (C1)}}
  %o = "linalg_ext.attention"(%q, %k, %v, %t) <{indexing_maps = [affine_map<(m, d, s, n) -> (m, d)>, affine_map<(m, d, s, n) -> (s, d)>, affine_map<(m, d, s, n) -> (s, n)>, affine_map<(m, d, s, n) -> (m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f64):
    "linalg_ext.yield"(%s) : (f64) -> ()
  }) : (tensor<4x2xf64>, tensor<5x2xf64>, tensor<5x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
  func.return %o : tensor<4x3xf64>
}

// -----

func.func @f(%q: tensor<4x4xf32>, %k: tensor<5x4xf32>, %v: tensor<5x3xf32>, %t: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{to be loops, each once, or 0 (C2)}}
  %o = "linalg_ext.attention"(%q, %k, %v, %t) <{indexing_maps = [affine_map<(m, d, s, n) -> (m, m)>, affine_map<(m, d, s, n) -> (s, d)>, affine_map<(m, d, s, n) -> (s, n)>, affine_map<(m, d, s, n) -> (m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (tensor<4x4xf32>, tensor<5x4xf32>, tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %o : tensor<4x3xf32>
}

// -----

func.func @f(%q: tensor<4x2xf32>, %k: tensor<2x5xf32>, %v: tensor<5x3xf32>, %t: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{is over other loops than its operand's (C3)}}
  %o = "linalg_ext.attention"(%q, %k, %v, %t) <{indexing_maps = [affine_map<(m, d, s, n) -> (m, d)>, affine_map<(m, d, s, n) -> (d, n)>, affine_map<(m, d, s, n) -> (s, n)>, affine_map<(m, d, s, n) -> (m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (tensor<4x2xf32>, tensor<2x5xf32>, tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %o : tensor<4x3xf32>
}

// -----

func.func @f(%q: tensor<4x2xf32>, %k: tensor<5x2xf32>, %v: tensor<5x3xf32>, %t: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{expected a body of a score and each further input to one f32 (C4)}}
  %o = "linalg_ext.attention"(%q, %k, %v, %t) <{indexing_maps = [affine_map<(m, d, s, n) -> (m, d)>, affine_map<(m, d, s, n) -> (s, d)>, affine_map<(m, d, s, n) -> (s, n)>, affine_map<(m, d, s, n) -> (m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32, %b: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (tensor<4x2xf32>, tensor<5x2xf32>, tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %o : tensor<4x3xf32>
}

// -----

func.func @f(%q: tensor<4x2xf32>, %k: tensor<5x2xf32>, %v: tensor<5x3xf32>, %t: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{causal is negative: the first query would see no key (C5)}}
  %o = "linalg_ext.attention"(%q, %k, %v, %t) <{causal = -1 : i64, indexing_maps = [affine_map<(m, d, s, n) -> (m, d)>, affine_map<(m, d, s, n) -> (s, d)>, affine_map<(m, d, s, n) -> (s, n)>, affine_map<(m, d, s, n) -> (m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (tensor<4x2xf32>, tensor<5x2xf32>, tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %o : tensor<4x3xf32>
}

// -----

func.func @f(%q: tensor<4x2xbf16>, %k: tensor<5x2xbf16>, %v: tensor<5x3xbf16>, %t: tensor<4x3xf16>) -> tensor<4x3xf16> {
  // expected-error@+1 {{expected other operands of f32, or of the type of query, key and value (C1)}}
  %o = "linalg_ext.attention"(%q, %k, %v, %t) <{indexing_maps = [affine_map<(m, d, s, n) -> (m, d)>, affine_map<(m, d, s, n) -> (s, d)>, affine_map<(m, d, s, n) -> (s, n)>, affine_map<(m, d, s, n) -> (m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (tensor<4x2xbf16>, tensor<5x2xbf16>, tensor<5x3xbf16>, tensor<4x3xf16>) -> tensor<4x3xf16>
  func.return %o : tensor<4x3xf16>
}

// -----

func.func @f(%q: tensor<4x2xbf16>, %k: tensor<5x2xbf16>, %v: tensor<5x3xbf16>, %m: tensor<4x5xbf16>, %t: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{expected a body of a score and each further input to one f32 (C4)}}
  %o = "linalg_ext.attention"(%q, %k, %v, %m, %t) <{indexing_maps = [affine_map<(m, d, s, n) -> (m, d)>, affine_map<(m, d, s, n) -> (s, d)>, affine_map<(m, d, s, n) -> (s, n)>, affine_map<(m, d, s, n) -> (m, s)>, affine_map<(m, d, s, n) -> (m, n)>], operandSegmentSizes = array<i32: 4, 1>}> ({
  ^bb0(%s: f32, %b: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (tensor<4x2xbf16>, tensor<5x2xbf16>, tensor<5x3xbf16>, tensor<4x5xbf16>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %o : tensor<4x3xf32>
}

// -----

func.func @f(%x: tensor<8x3x32xf32>, %w: tensor<2x32x16x4xui8>, %s: tensor<2x8x16xf32>, %z: tensor<8x3xf32>, %t: tensor<3x24xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{expected elements of 2, 4 or 8 bits, got 3 (C1)}}
  %o = "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %t) <{bits = 3 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}> : (tensor<8x3x32xf32>, tensor<2x32x16x4xui8>, tensor<2x8x16xf32>, tensor<8x3xf32>, tensor<3x24xf32>) -> tensor<3x24xf32>
  func.return %o : tensor<3x24xf32>
}

// -----

func.func @f(%x: tensor<8x3x30xf32>, %w: tensor<2x32x16x4xui8>, %s: tensor<2x8x16xf32>, %z: tensor<8x3xf32>, %t: tensor<3x24xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{does not hold 8 blocks of 30 as whole words (C1)}}
  %o = "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %t) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}> : (tensor<8x3x30xf32>, tensor<2x32x16x4xui8>, tensor<2x8x16xf32>, tensor<8x3xf32>, tensor<3x24xf32>) -> tensor<3x24xf32>
  func.return %o : tensor<3x24xf32>
}

// -----

func.func @f(%x: tensor<8x3x32xf32>, %w: tensor<2x31x16x4xui8>, %s: tensor<2x8x16xf32>, %z: tensor<8x3xf32>, %t: tensor<3x24xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{does not hold 8 blocks of 32 as whole words (C1)}}
  %o = "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %t) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}> : (tensor<8x3x32xf32>, tensor<2x31x16x4xui8>, tensor<2x8x16xf32>, tensor<8x3xf32>, tensor<3x24xf32>) -> tensor<3x24xf32>
  func.return %o : tensor<3x24xf32>
}

// -----

func.func @f(%x: tensor<8x3x32xf32>, %w: tensor<2x32x16x4xui8>, %s: tensor<2x8x16xf32>, %z: tensor<8x3xi32>, %t: tensor<3x24xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{expected lhs and starts of f32, or of i8 and i32 with lhs_scales, or bf16 without, the rest f32 (C2)}}
  %o = "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %t) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}> : (tensor<8x3x32xf32>, tensor<2x32x16x4xui8>, tensor<2x8x16xf32>, tensor<8x3xi32>, tensor<3x24xf32>) -> tensor<3x24xf32>
  func.return %o : tensor<3x24xf32>
}

// -----

func.func @f(%x: tensor<8x3x32xf32>, %w: tensor<2x32x16x4xi32>, %s: tensor<2x8x16xf32>, %z: tensor<8x3xf32>, %t: tensor<3x24xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{expected a right operand of bytes, got i32 (C2)}}
  %o = "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %t) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}> : (tensor<8x3x32xf32>, tensor<2x32x16x4xi32>, tensor<2x8x16xf32>, tensor<8x3xf32>, tensor<3x24xf32>) -> tensor<3x24xf32>
  func.return %o : tensor<3x24xf32>
}

// -----

func.func @f(%x: tensor<8x3x32xf32>, %w: tensor<2x32x16x4xui8>, %s: tensor<2x8x16xf32>, %z: tensor<3x8xf32>, %t: tensor<3x24xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{expected a shape of [8, 3], got tensor<3x8xf32> (C3)}}
  %o = "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %t) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}> : (tensor<8x3x32xf32>, tensor<2x32x16x4xui8>, tensor<2x8x16xf32>, tensor<3x8xf32>, tensor<3x24xf32>) -> tensor<3x24xf32>
  func.return %o : tensor<3x24xf32>
}

// -----

func.func @f(%x: tensor<8x3x32xf32>, %w: tensor<2x32x64xui8>, %s: tensor<2x8x16xf32>, %z: tensor<8x3xf32>, %t: tensor<3x24xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{expected 4 dimensions, got tensor<2x32x64xui8> (C3)}}
  %o = "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %t) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}> : (tensor<8x3x32xf32>, tensor<2x32x64xui8>, tensor<2x8x16xf32>, tensor<8x3xf32>, tensor<3x24xf32>) -> tensor<3x24xf32>
  func.return %o : tensor<3x24xf32>
}

// -----

func.func @f(%x: tensor<8x3x32xf32>, %w: tensor<2x32x16x4xui8>, %s: tensor<2x8x16xf32>, %z: tensor<8x3xf32>, %t: tensor<3x40xf32>) -> tensor<3x40xf32> {
  // expected-error@+1 {{tensor<3x40xf32> is not 3 rows of 2 panels (C3)}}
  %o = "linalg_ext.matmul_nbits"(%x, %w, %s, %z, %t) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1>}> : (tensor<8x3x32xf32>, tensor<2x32x16x4xui8>, tensor<2x8x16xf32>, tensor<8x3xf32>, tensor<3x40xf32>) -> tensor<3x40xf32>
  func.return %o : tensor<3x40xf32>
}

// -----

func.func @f(%x: tensor<8x3x32xf32>, %w: tensor<2x32x16x4xui8>, %s: tensor<2x8x16xf32>, %t: tensor<3x24xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{or bf16 without, the rest f32 (C2)}}
  %o = "linalg_ext.matmul_nbits"(%x, %w, %s, %t) <{bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}> : (tensor<8x3x32xf32>, tensor<2x32x16x4xui8>, tensor<2x8x16xf32>, tensor<3x24xf32>) -> tensor<3x24xf32>
  func.return %o : tensor<3x24xf32>
}
