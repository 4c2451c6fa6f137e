// RUN: lamina-opt %s | lamina-opt | filecheck %s

// CHECK-LABEL: llvm.func @kernel
// CHECK: nvvm.read.ptx.sreg.tid.x() : () -> i32
// CHECK: nvvm.barrier0() : () -> ()
// CHECK: nvvm.ldmatrix.x4(%{{.*}}) : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
llvm.func @kernel(%p: !llvm.ptr<3>) {
  %t = nvvm.read.ptx.sreg.tid.x() : () -> i32
  nvvm.barrier0() : () -> ()
  %m = nvvm.ldmatrix.x4(%p) : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  llvm.return
}
