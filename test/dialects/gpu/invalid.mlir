// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @size(%x: f32) {
  // expected-error @+1 {{24 threads are not a power of two of at most 32}}
  %a = gpu.subgroup_reduce add %x cluster(size = 24) : f32
  func.return
}

// -----

func.func @kind(%x: f32) {
  // expected-error @+1 {{'mean' is none of add, mul}}
  %a = gpu.all_reduce mean %x : f32
  func.return
}

// -----

func.func @offset(%x: f32) {
  // expected-error @+1 {{offset 32 is not within a warp of 32}}
  %a = gpu.shuffle xor %x, 32 : f32
  func.return
}

// -----

func.func @space() {
  // expected-error @+1 {{expected bytes in memory space 3}}
  %a = gpu.dynamic_shared_memory : memref<512xi8>
  func.return
}

// -----

func.func @threads(%x: memref<4xf32>) {
  // expected-error @+1 {{2048 threads, a block has at most 1024}}
  gpu.launch_func @k(%x) {blocks = array<i64: 1, 1, 1>, threads = array<i64: 1024, 2, 1>} : memref<4xf32>
  func.return
}
