// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @space(%x: memref<64xbf16>, %s: memref<128xi8>, %i: index) {
  // expected-error @+1 {{expected a buffer in shared memory, got memref<128xi8>}}
  nvgpu.device_async_copy %x[%i] to %s[%i] {bytes = 16 : i64} : memref<64xbf16> to memref<128xi8>
  func.return
}

// -----

func.func @bytes(%x: memref<64xbf16>, %s: memref<128xi8, 3 : i32>, %i: index) {
  // expected-error @+1 {{copies 2 bytes, expected one of (4, 8, 16)}}
  nvgpu.device_async_copy %x[%i] to %s[%i] {bytes = 2 : i64} : memref<64xbf16> to memref<128xi8, 3 : i32>
  func.return
}

// -----

func.func @kind(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error @+1 {{'f64' is none of bf16, f16, tf32}}
  %d = nvgpu.mma.sync %a, %b, %c {kind = "f64"} : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
  func.return
}

// -----

func.func @registers() {
  // expected-error @+1 {{expected a multiple of 8 from 24 to 256}}
  nvgpu.set_max_registers {count = 20 : i64}
  func.return
}

// -----

func.func @corner(%t: !nvgpu.tensormap<8x64xbf16, 128>, %s: memref<1024xi8, 3 : i32>, %b: memref<2xi64, 3 : i32>, %i: index) {
  // expected-error @+1 {{needs 2 coordinates, got 1}}
  nvgpu.tma.async.load %t[%i] to %s[%i], %b[%i] : !nvgpu.tensormap<8x64xbf16, 128> to memref<1024xi8, 3 : i32>, memref<2xi64, 3 : i32>
  func.return
}

// -----

func.func @innermost(%x: memref<512xbf16>) {
  // expected-error @+1 {{elements of the innermost dimension follow each other}}
  %t = nvgpu.tma.create.descriptor %x {sizes = array<i64: 8, 32>, strides = array<i64: 64, 2>} : memref<512xbf16> to !nvgpu.tensormap<8x64xbf16, 128>
  func.return
}

// -----

func.func @pair(%x: vector<2xf32>) {
  // expected-error @+1 {{vector<2xf32> is no pair of numbers of 16 bits}}
  %r = nvgpu.round_pair %x : vector<2xf32> to vector<2xf32>
  func.return
}

// -----

func.func @sums(%s: memref<1024xi8, 3 : i32>, %i: index, %a: vector<4xi32>, %c: vector<4xf32>) {
  // expected-error @+1 {{1 sums become 2}}
  %d, %e = nvgpu.warpgroup.mma.registers %a, %s[%i], %c {kind = "bf16", offset = 0 : i64, leading = 16 : i64} : memref<1024xi8, 3 : i32>, (vector<4xf32>) -> (vector<4xf32>, vector<4xf32>)
  func.return
}

// -----

func.func @registers(%a: vector<4xi32>) {
  // expected-error @+1 {{gives the registers that it takes}}
  %d = nvgpu.warpgroup.wait %a {groups = 0 : i64} : (vector<4xi32>) -> vector<4xf32>
  func.return
}

// -----

func.func @warps(%i: index) {
  // expected-error @+1 {{100 threads are no whole warps}}
  nvgpu.barrier.sync %i {threads = 100 : i64}
  func.return
}
