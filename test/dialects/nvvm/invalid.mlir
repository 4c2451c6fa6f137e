// RUN: lamina-opt %s --split-input-file --verify-diagnostics

llvm.func @operands(%x: f32) {
  // expected-error @+1 {{takes (i32, i32, i32, i32), got (f32)}}
  %a = nvvm.shfl.sync.bfly.i32(%x) : (f32) -> i32
  llvm.return
}

// -----

llvm.func @result() {
  // expected-error @+1 {{gives i32, not f32}}
  %a = nvvm.read.ptx.sreg.tid.x() : () -> f32
  llvm.return
}
