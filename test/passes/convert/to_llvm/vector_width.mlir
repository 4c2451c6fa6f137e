// Where registers have 512 bits LLVM is told to use them; elsewhere nothing is said.
// RUN: lamina-opt %s --machine x86-64-avx512 -p convert-to-llvm | filecheck %s --check-prefix WIDE
// RUN: lamina-opt %s --machine x86-64-avx2 -p convert-to-llvm | filecheck %s
// WIDE: llvm.func @f() attributes {passthrough = [["prefer-vector-width", "512"]]}
// CHECK: llvm.func @f() {
func.func public @f() {
  func.return
}
