// RUN: lamina-opt %s -p convert-gpu-to-nvvm | filecheck %s
// RUN: lamina-opt %s -p convert-gpu-to-nvvm,convert-to-llvm | filecheck %s --check-prefix=LLVM

// CHECK: llvm.mlir.global external @lamina_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: attributes {nvvm.kernel, passthrough = {{\[\[}}"nvvm.maxntid", "128"]]}
// CHECK: %[[T:.*]] = nvvm.read.ptx.sreg.tid.x() : () -> i32
// CHECK: arith.index_cast %[[T]] : i32 to index
// CHECK: nvvm.shfl.sync.bfly.f32(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (i32, f32, i32, i32) -> f32
// CHECK: nvvm.barrier0() : () -> ()
// CHECK: llvm.mlir.addressof @lamina_shared : !llvm.ptr<3>
// LLVM-LABEL: llvm.func @kernel
// LLVM: llvm.getelementptr inbounds %{{.*}} : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
// LLVM: nvvm.read.ptx.sreg.ctaid.x
func.func @kernel(%x: memref<128xf32>) attributes {gpu.kernel, gpu.known_block_size = array<i32: 128, 1, 1>} {
  %t = gpu.thread_id x
  %v = memref.load %x[%t] : memref<128xf32>
  %s = gpu.shuffle xor %v, 16 : f32
  gpu.barrier
  %smem = gpu.dynamic_shared_memory : memref<512xi8, 3 : i32>
  %zero = arith.constant 0 : index
  %room = memref.view %smem[%zero][] : memref<512xi8, 3 : i32> to memref<128xf32, 3 : i32>
  memref.store %s, %room[%t] : memref<128xf32, 3 : i32>
  %b = gpu.block_id x
  memref.store %v, %x[%b] : memref<128xf32>
  func.return
}
