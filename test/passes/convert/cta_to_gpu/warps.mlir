// RUN: lamina-opt %s -p "convert-contraction-to-cta{unit=mma},cta-pipeline,convert-cta-to-gpu" | filecheck %s

// Two stages are begun; in the loop a stage is waited for and the one after next begun, each of copies of 16 bytes.
// CHECK-LABEL: func.func private @product_0
// CHECK-SAME: attributes {gpu.kernel, gpu.rolled, gpu.known_block_size = array<i32: 64, 1, 1>, gpu.known_grid_size = array<i32: 4, 1, 1>}
// CHECK: gpu.dynamic_shared_memory : memref<24576xi8, 3 : i32>
// CHECK: affine.for %{{.*}} = 0 to 2 {
// CHECK-COUNT-8: nvgpu.device_async_copy {{.*}} {bytes = 16 : i64}
// CHECK: nvgpu.device_async_create_group
// CHECK: affine.for %{{.*}} = 0 to 4 iter_args
// CHECK-NEXT: nvgpu.device_async_wait {groups = 1 : i64}
// CHECK-NEXT: gpu.barrier
// CHECK: scf.if
// CHECK-COUNT-8: nvgpu.device_async_copy
// CHECK: nvgpu.device_async_create_group
// CHECK: nvgpu.ldmatrix %{{.*}}[%{{.*}}] : memref<24576xi8, 3 : i32> -> vector<4xi32>
// CHECK: nvgpu.ldmatrix {{.*}} {transpose}
// CHECK-COUNT-4: nvgpu.mma.sync {{.*}} {kind = "bf16"}
// CHECK: affine.yield
// CHECK-COUNT-8: affine.vector_store {{.*}} {alignment = 8 : i64} : memref<4096xf32>, vector<2xf32>
// CHECK-NOT: scf.if
func.func private @product(%a: memref<64x256xbf16>, %b: memref<256x64xbf16>, %c: memref<64x64xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<64x256xbf16>, memref<256x64xbf16>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}

// Rows that the matrix does not have are zeros in shared memory, and are not stored.
// CHECK-LABEL: func.func private @edges_0
// CHECK: nvgpu.device_async_copy {{.*}}], %{{.*}} {bytes = 16 : i64}
// CHECK: affine.for
// CHECK: scf.if
// CHECK: affine.vector_store
func.func private @edges(%a: memref<65x256xbf16>, %b: memref<256x64xbf16>, %c: memref<65x64xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<65x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<65x256xbf16>, memref<256x64xbf16>) outs(%c : memref<65x64xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
