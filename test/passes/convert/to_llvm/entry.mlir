// The entry takes arrays of pointers, the arena, the constants and the thread pool.
// RUN: lamina-opt %s -p convert-parallel-to-runtime,convert-to-llvm | filecheck %s
// CHECK: llvm.func @lamina_main(%inputs: !llvm.ptr, %outputs: !llvm.ptr, %arena: !llvm.ptr, %constants: !llvm.ptr, %ctx: !llvm.ptr) -> i32
func.func public @main(%x: memref<4xf32>, %y: memref<4xf32>, %arena: memref<64xi8>, %constants: memref<64xi8>) attributes {lamina.inputs = 1 : i64, lamina.outputs = 1 : i64} {
  // CHECK: llvm.getelementptr inbounds %inputs[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  // CHECK: %x = llvm.load
  // CHECK: llvm.getelementptr inbounds %outputs[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  // CHECK: %y = llvm.load
  // CHECK: llvm.call @k(%x, %y, %ctx) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  func.call @k(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  // CHECK: llvm.return %{{.*}} : i32
  func.return
}
func.func private @k(memref<4xf32>, memref<4xf32>)
