// RUN: lamina-opt %s --machine x86-64-avx2 -p convert-affine-to-scf,convert-scf-to-cf,convert-to-llvm | filecheck %s
// RUN: lamina-opt %s --machine x86-64 -p convert-affine-to-scf,convert-scf-to-cf,convert-to-llvm | filecheck %s --check-prefix SHORT

// Three numbers of sixteen registers each: with more than twice as many as there are, some are on the stack,
// and a frame pointer lets LLVM align them. Registers of 16 bytes are aligned anyway.
// CHECK: llvm.func @many({{.*}}) attributes {passthrough = {{\[\[}}"frame-pointer", "all"{{\]\]}}}
// SHORT-LABEL: llvm.func @many
// SHORT-NOT: frame-pointer
func.func public @many(%x: memref<512xf32>, %y: memref<512xf32>) {
  affine.for %i = 0 to 512 step 128 {
    %a = affine.vector_load %x[%i] : memref<512xf32>, vector<128xf32>
    %b = math.absf %a : vector<128xf32>
    %c = arith.mulf %a, %b : vector<128xf32>
    %d = arith.addf %c, %b : vector<128xf32>
    %e = arith.subf %a, %d : vector<128xf32>
    %f = arith.mulf %e, %d : vector<128xf32>
    %g = arith.addf %f, %c : vector<128xf32>
    %h = arith.addf %g, %b : vector<128xf32>
    affine.vector_store %h, %y[%i] : memref<512xf32>, vector<128xf32>
  }
  func.return
}

// CHECK: llvm.func @few({{.*}}) {
func.func public @few(%x: memref<512xf32>, %y: memref<512xf32>) {
  affine.for %i = 0 to 512 step 64 {
    %a = affine.vector_load %x[%i] : memref<512xf32>, vector<64xf32>
    %b = arith.mulf %a, %a : vector<64xf32>
    affine.vector_store %b, %y[%i] : memref<512xf32>, vector<64xf32>
  }
  func.return
}

// What other blocks make is needed through all of a loop.
// CHECK: llvm.func @kept({{.*}}) attributes {passthrough = {{\[\[}}"frame-pointer", "all"{{\]\]}}}
func.func public @kept(%x: memref<512xf32>, %y: memref<512xf32>) {
  %a = affine.vector_load %x[0] : memref<512xf32>, vector<128xf32>
  %b = affine.vector_load %x[128] : memref<512xf32>, vector<128xf32>
  affine.for %i = 0 to 512 step 128 {
    %c = affine.vector_load %x[%i] : memref<512xf32>, vector<128xf32>
    %d = arith.mulf %c, %a : vector<128xf32>
    affine.vector_store %d, %y[%i] : memref<512xf32>, vector<128xf32>
    %e = arith.mulf %c, %b : vector<128xf32>
    affine.vector_store %e, %y[%i] : memref<512xf32>, vector<128xf32>
  }
  func.return
}
