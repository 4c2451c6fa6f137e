// RUN: lamina-opt %s -p convert-to-llvm --split-input-file --verify-diagnostics
func.func @heap() {
  // expected-error@+1 {{generated code does not allocate}}
  %m = memref.alloc() : memref<4xf32>
  func.return
}

// -----

func.func @flat(%m: memref<4x4xf32>, %i: index) {
  // expected-error@+1 {{vector<4x4xf32> has not one dimension}}
  %v = vector.load %m[%i, %i] : memref<4x4xf32>, vector<4x4xf32>
  func.return
}

// -----

// expected-error@+1 {{@main does not say how many inputs and outputs it has}}
func.func public @main(%x: memref<4xf32>) {
  func.return
}
