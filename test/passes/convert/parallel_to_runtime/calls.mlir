// Calls pass the context on; declarations take it too.
// RUN: lamina-opt %s -p convert-parallel-to-runtime | filecheck %s
// CHECK: func.func private @k(memref<8xf32>, !llvm.ptr)
func.func private @k(memref<8xf32>)
// CHECK: func.func public @main(%a: memref<8xf32>, %ctx: !llvm.ptr)
func.func public @main(%a: memref<8xf32>) {
  // CHECK: func.call @k(%a, %ctx) : (memref<8xf32>, !llvm.ptr) -> ()
  func.call @k(%a) : (memref<8xf32>) -> ()
  func.return
}
// CHECK-NOT: lamina_parallel_for
