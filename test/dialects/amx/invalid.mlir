// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @stride(%m: memref<4096xbf16>, %i: index) {
  // expected-error@+1 {{a base of one dimension does not tell how far rows are apart: a stride is needed}}
  %a = amx.tile_load %m[%i] : memref<4096xbf16> into !amx.tile<16x32xbf16>
  func.return
}

// -----

func.func @elements(%m: memref<64x64xf32>, %i: index) {
  // expected-error@+1 {{base of f32 and tile of bf16 differ}}
  %a = amx.tile_load %m[%i, %i] : memref<64x64xf32> into !amx.tile<16x32xbf16>
  func.return
}

// -----

func.func @shapes(%a: !amx.tile<16x32xbf16>, %b: !amx.tile<8x32xbf16>, %c: !amx.tile<16x16xf32>) {
  // expected-error@+1 {{tiles of 16x32 and 8x32 in groups of 2 give none of 16x16: expected 16 rows of 32 on the right}}
  %d = amx.tile_mulf %a, %b, %c : !amx.tile<16x32xbf16>, !amx.tile<8x32xbf16>, !amx.tile<16x16xf32>
  func.return
}

// -----

func.func @types(%a: !amx.tile<16x32xbf16>, %c: !amx.tile<16x16xf32>) {
  // expected-error@+1 {{tiles of i8 give one of i32}}
  %d = amx.tile_muli %a, %a, %c : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  func.return
}
