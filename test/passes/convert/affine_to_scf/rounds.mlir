// RUN: lamina-opt %s -p convert-affine-to-scf | filecheck %s --check-prefix=SCF
// RUN: lamina-opt %s -p convert-affine-to-scf,convert-scf-to-cf | filecheck %s --check-prefix=CF
// RUN: lamina-opt %s -p convert-affine-to-scf,convert-scf-to-cf,convert-to-llvm | filecheck %s --check-prefix=LLVM
// A loop that is to have several rounds of code says so on every level, at last on its branch back; others do not.

// SCF: scf.for
// SCF: scf.for
// SCF: } {lamina.unroll = 4 : i64}
// SCF-NOT: lamina.unroll
// CF: cf.cond_br {{.*}} {lamina.unroll = 4 : i64}
// CF-NOT: lamina.unroll
// LLVM: llvm.cond_br {{.*}}lamina.unroll = 4 : i64
// LLVM-NOT: lamina.unroll
func.func public @sums(%x: memref<8x64xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %sum = affine.for %k = 0 to 64 iter_args(%held = %zero) -> (f32) {
      %value = affine.load %x[%i, %k] : memref<8x64xf32>
      %next = arith.addf %held, %value : f32
      affine.yield %next : f32
    } {lamina.unroll = 4 : i64}
    affine.store %sum, %y[%i] : memref<8xf32>
  }
  func.return
}
