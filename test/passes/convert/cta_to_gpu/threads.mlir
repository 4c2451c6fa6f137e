// RUN: lamina-opt %s -p "convert-contraction-to-cta{unit=fma},cta-pipeline,convert-cta-to-gpu" | filecheck %s

// One block of 64 threads for each 32 x 32 of the result; three steps of the sum are on their way while a fourth is
// multiplied. The left operand is turned on its way, element by element; 8 lanes bring a sector of one line.
// CHECK-LABEL: func.func private @product
// CHECK-NEXT: gpu.launch_func @product_0(%a, %b, %c) {blocks = array<i64: 4, 1, 1>, threads = array<i64: 64, 1, 1>}
// CHECK-NEXT: func.return
// CHECK-LABEL: func.func private @product_0
// CHECK-SAME: attributes {gpu.kernel, gpu.known_block_size = array<i32: 64, 1, 1>, gpu.known_grid_size = array<i32: 4, 1, 1>}
// CHECK: gpu.dynamic_shared_memory : memref<24576xi8, 3 : i32>
// CHECK: affine.for %{{.*}} = 0 to 3 {
// CHECK-COUNT-8: nvgpu.device_async_copy {{.*}} {bytes = 4 : i64}
// CHECK-COUNT-2: nvgpu.device_async_copy {{.*}} {bytes = 16 : i64}
// CHECK: nvgpu.device_async_create_group
// CHECK: affine.for %{{.*}} = 0 to 16 iter_args
// CHECK-NEXT: nvgpu.device_async_wait {groups = 2 : i64}
// CHECK-NEXT: gpu.barrier
// CHECK: scf.if
// CHECK-COUNT-10: nvgpu.device_async_copy
// CHECK: nvgpu.device_async_create_group
// CHECK-NOT: gpu.barrier
// CHECK: affine.for %{{.*}} = 0 to 16 step 4
// CHECK-COUNT-16: vector.fma
// CHECK-NOT: vector.fma
// CHECK-COUNT-4: affine.vector_store {{.*}} {alignment = 16 : i64} : memref<4096xf32>, vector<4xf32>
// CHECK-NOT: scf.if
func.func private @product(%a: memref<64x256xf32>, %b: memref<256x64xf32>, %c: memref<64x64xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<64x256xf32>, memref<256x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// Where a thread's registers are full of sums, nobody is to unroll its loops. One stage comes through registers: both
// barriers are in the loop over the sum.
// CHECK-LABEL: func.func private @large_0
// CHECK-SAME: attributes {gpu.kernel, gpu.rolled, gpu.known_block_size = array<i32: 256, 1, 1>, gpu.known_grid_size = array<i32: 1, 1, 1>}
// CHECK: affine.for %{{.*}} = 0 to 256 step 16 iter_args
// CHECK: affine.vector_load %{{.*}} {alignment = 16 : i64} : memref<16384xf32>, vector<4xf32>
// CHECK: gpu.barrier
// CHECK: affine.vector_store %{{.*}} : memref<{{.*}}, 3 : i32>, vector<4xf32>
// CHECK: gpu.barrier
// CHECK: affine.for %{{.*}} = 0 to 16 step 4
func.func private @large(%a: memref<64x256xf32>, %b: memref<256x64xf32>, %c: memref<64x64xf32>) attributes {lamina.kernel = "contraction", cta.schedule = {unit = "fma", rows = 128 : i64, columns = 128 : i64, depth = 16 : i64, down = 8 : i64, across = 8 : i64, stages = 1 : i64}} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<64x256xf32>, memref<256x64xf32>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
