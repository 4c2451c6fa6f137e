// RUN: lamina-opt %s -p "cta-pipeline,convert-cta-to-gpu" | filecheck %s

// What is kept and the first stage are one group of copies. A warp reads its rows of it into registers once; what the
// first product leaves is rounded by pairs and multiplied again.
// CHECK-LABEL: func.func private @warps_0
// CHECK-SAME: attributes {gpu.kernel, gpu.rolled, gpu.known_block_size = array<i32: 64, 1, 1>, gpu.known_grid_size = array<i32: 1, 1, 1>}
// CHECK-COUNT-4: nvgpu.device_async_copy
// CHECK: nvgpu.device_async_create_group
// CHECK: nvgpu.device_async_wait {groups = 0 : i64}
// CHECK-NEXT: gpu.barrier
// CHECK: nvgpu.ldmatrix
// CHECK: affine.for %{{.*}} = 0 to 2 iter_args
// CHECK-NEXT: nvgpu.device_async_wait {groups = 0 : i64}
// CHECK-NEXT: gpu.barrier
// CHECK: nvgpu.device_async_create_group
// CHECK-COUNT-4: nvgpu.mma.sync
// CHECK: gpu.shuffle xor %{{.*}}, 1 : f32
// CHECK: gpu.shuffle xor %{{.*}}, 2 : f32
// CHECK-NOT: gpu.shuffle xor %{{.*}}, 4
// CHECK: nvgpu.exp2
// CHECK: nvgpu.round_pair %{{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK-NOT: affine.vector_store
// CHECK: nvgpu.ldmatrix {{.*}} {transpose}
// CHECK-COUNT-8: nvgpu.mma.sync
// CHECK: affine.yield
// CHECK-COUNT-8: affine.vector_store {{.*}} vector<2xf32>
func.func private @warps(%q: memref<32x16xbf16>, %k: memref<64x16xbf16>, %v: memref<64x32xbf16>, %o: memref<32x32xf32>) {
  cta.program {sizes = array<i64: 1, 32, 32>, tile = array<i64: 1, 32, 32>, schedule = {unit = "mma", rows = 32 : i64, columns = 32 : i64, depth = 32 : i64, down = 2 : i64, across = 1 : i64, stages = 2 : i64}} do {
  ^bb0(%b: index, %m: index, %n: index):
    %q0 = cta.view %q : memref<32x16xbf16> to !cta.view<bf16, (1,32,16):(0,16,1)>
    %k0 = cta.view %k : memref<64x16xbf16> to !cta.view<bf16, (1,16,64):(0,1,16)>
    %v0 = cta.view %v : memref<64x32xbf16> to !cta.view<bf16, (1,64,32):(0,32,1)>
    %o0 = cta.view %o : memref<32x32xf32> to !cta.view<f32, (1,32,32):(0,32,1)>
    %c = arith.constant 0 : index
    %x = cta.load %q0[%b, %m, %c] : !cta.view<bf16, (1,32,16):(0,16,1)> to tensor<32x16xbf16>
    %zero = arith.constant dense<0.0> : tensor<32x32xf32>
    %none = arith.constant dense<0.0> : tensor<32x1xf32>
    %r, %t = affine.for %s = 0 to 64 step 32 iter_args(%acc = %zero, %total = %none) -> (tensor<32x32xf32>, tensor<32x1xf32>) {
      %y = cta.load %k0[%b, %c, %s] : !cta.view<bf16, (1,16,64):(0,1,16)> to tensor<16x32xbf16>
      %z = cta.load %v0[%b, %s, %c] : !cta.view<bf16, (1,64,32):(0,32,1)> to tensor<32x32xbf16>
      %p = cta.dot %x, %y, %zero : (tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32>) -> tensor<32x32xf32>
      %w = cta.reduce %p {kind = "add"} : tensor<32x32xf32> -> tensor<32x1xf32>
      %h = cta.map %p, %w : (tensor<32x32xf32>, tensor<32x1xf32>) -> tensor<32x32xbf16> do {
      ^bb0(%f: f32, %g: f32):
        %d = arith.subf %f, %g : f32
        %e = math.exp2 %d : f32
        %i = arith.truncf %e : f32 to bf16
        cta.yield %i : bf16
      }
      %a = cta.dot %h, %z, %acc : (tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<32x32xf32>) -> tensor<32x32xf32>
      affine.yield %a, %w : tensor<32x32xf32>, tensor<32x1xf32>
    }
    cta.store %r, %o0[%b, %m, %n] : tensor<32x32xf32>, !cta.view<f32, (1,32,32):(0,32,1)>
    cta.yield
  }
  func.return
}

// Sixteen threads share a row; they meet before they read what all of them have computed.
// CHECK-LABEL: func.func private @threads_0
// CHECK: affine.for %{{.*}} = 0 to 64 step 32 iter_args
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: affine.for %{{.*}} = 0 to 16 step 4 iter_args
// CHECK-COUNT-16: vector.fma
// CHECK: gpu.shuffle xor %{{.*}}, 8 : f32
// CHECK-COUNT-4: affine.vector_store {{.*}} {alignment = 8 : i64} : memref<{{.*}}, 3 : i32>, vector<2xf32>
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: affine.for %{{.*}} = 0 to 32 step 4 iter_args
func.func private @threads(%q: memref<32x16xf32>, %k: memref<64x16xf32>, %v: memref<64x32xf32>, %o: memref<32x32xf32>) {
  cta.program {sizes = array<i64: 1, 32, 32>, tile = array<i64: 1, 32, 32>, schedule = {unit = "fma", rows = 32 : i64, columns = 32 : i64, depth = 32 : i64, down = 4 : i64, across = 2 : i64, stages = 1 : i64}} do {
  ^bb0(%b: index, %m: index, %n: index):
    %q0 = cta.view %q : memref<32x16xf32> to !cta.view<f32, (1,32,16):(0,16,1)>
    %k0 = cta.view %k : memref<64x16xf32> to !cta.view<f32, (1,16,64):(0,1,16)>
    %v0 = cta.view %v : memref<64x32xf32> to !cta.view<f32, (1,64,32):(0,32,1)>
    %o0 = cta.view %o : memref<32x32xf32> to !cta.view<f32, (1,32,32):(0,32,1)>
    %c = arith.constant 0 : index
    %x = cta.load %q0[%b, %m, %c] : !cta.view<f32, (1,32,16):(0,16,1)> to tensor<32x16xf32>
    %zero = arith.constant dense<0.0> : tensor<32x32xf32>
    %none = arith.constant dense<0.0> : tensor<32x1xf32>
    %r, %t = affine.for %s = 0 to 64 step 32 iter_args(%acc = %zero, %total = %none) -> (tensor<32x32xf32>, tensor<32x1xf32>) {
      %y = cta.load %k0[%b, %c, %s] : !cta.view<f32, (1,16,64):(0,1,16)> to tensor<16x32xf32>
      %z = cta.load %v0[%b, %s, %c] : !cta.view<f32, (1,64,32):(0,32,1)> to tensor<32x32xf32>
      %p = cta.dot %x, %y, %zero : (tensor<32x16xf32>, tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      %w = cta.reduce %p {kind = "add"} : tensor<32x32xf32> -> tensor<32x1xf32>
      %h = cta.map %p, %w : (tensor<32x32xf32>, tensor<32x1xf32>) -> tensor<32x32xf32> do {
      ^bb0(%f: f32, %g: f32):
        %d = arith.subf %f, %g : f32
        cta.yield %d : f32
      }
      %a = cta.dot %h, %z, %acc : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      affine.yield %a, %w : tensor<32x32xf32>, tensor<32x1xf32>
    }
    cta.store %r, %o0[%b, %m, %n] : tensor<32x32xf32>, !cta.view<f32, (1,32,32):(0,32,1)>
    cta.yield
  }
  func.return
}
