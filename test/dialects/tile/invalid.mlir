// RUN: lamina-opt %s --verify-diagnostics --split-input-file

func.func @k(%p: memref<1x4x4x4xi8, "spm">, %w: memref<1x9x4x4xi8, "spm">, %c: memref<1x4x4x4xi32, "acc">, %i: index) {
  // expected-error @+1 {{C1: the patch has 4 rows or columns where 6 are read}}
  tile.contract %p, %w, %c[%i] {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} : memref<1x4x4x4xi8, "spm">, memref<1x9x4x4xi8, "spm">, memref<1x4x4x4xi32, "acc">
  func.return
}

// -----

func.func @k(%x: memref<8x8xi8>, %i: index) {
  // expected-error @+1 {{C1: x is memref<8x8xi8>, expected a memref in "dram"}}
  %p = tile.patch %x[%i, %i] in "a" {steps = array<i64: 1, 4>, block = 4 : i64, run = 4 : i64, pad = 0 : i8} : memref<8x8xi8> -> memref<1x1x4x4xi8, "spm">
  func.return
}

// -----

func.func @k(%c: memref<1x4x4x4xi32, "acc">, %y: memref<4x4x4xi8, "dram">, %i: index) {
  // expected-error @+1 {{sums, and only they, have a table}}
  tile.store %c[%i] to %y[%i, %i, %i] {len = 4 : i64} : memref<1x4x4x4xi32, "acc"> to memref<4x4x4xi8, "dram">
  func.return
}

// -----

func.func @k(%c: memref<1x4x4x4xi32, "acc">, %t: memref<4x2xi32, "tab">, %i: index) {
  // expected-error @+1 {{C1: memref<1x4x4x4xi32, "acc"> do not give memref<1x4x5x4xi8, "spm">}}
  %b = tile.requantize %c[%i] by %t in "b" {len = 4 : i64, post = array<i64: 0, -128, 127>} : memref<1x4x4x4xi32, "acc"> by memref<4x2xi32, "tab"> -> memref<1x4x5x4xi8, "spm">
  func.return
}
