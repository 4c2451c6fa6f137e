// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @table(%t: vector<4xf32>, %i: vector<16xi32>) {
  // expected-error@+1 {{a table is vector<8xf32> or vector<16xf32>, not vector<4xf32> (C1)}}
  %0 = "x86.permutexvar"(%t, %i) : (vector<4xf32>, vector<16xi32>) -> vector<16xf32>
  func.return
}

// -----

func.func @indices(%t: vector<16xf32>, %i: vector<16xi64>) {
  // expected-error@+1 {{indices vector<16xi64> do not choose vector<16xf32> (C2)}}
  %0 = "x86.permutexvar"(%t, %i) : (vector<16xf32>, vector<16xi64>) -> vector<16xf32>
  func.return
}

// -----

func.func @lanes(%t: vector<16xf32>, %i: vector<32xi32>) {
  // expected-error@+1 {{indices vector<32xi32> do not choose vector<16xf32> (C2)}}
  %0 = "x86.permutexvar"(%t, %i) : (vector<16xf32>, vector<32xi32>) -> vector<16xf32>
  func.return
}

// -----

func.func @plane(%x: vector<4x4xf32>) {
  // expected-error@+1 {{vector<4x4xf32> is no vector of one dimension (C1)}}
  %0 = "x86.scalef"(%x, %x) : (vector<4x4xf32>, vector<4x4xf32>) -> vector<4x4xf32>
  func.return
}

// -----

func.func @narrow(%x: vector<16xf32>) {
  // expected-error@+1 {{vector<16xf32> and vector<32xbf16> are no vectors of as many lanes (C1)}}
  %0 = "x86.cvtneps_pbh"(%x) : (vector<16xf32>) -> vector<32xbf16>
  func.return
}
