// RUN: lamina-opt %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @power
func.func @power(%table: vector<16xf32>, %i: vector<64xi32>, %e: vector<64xf32>) -> vector<64xf32> {
  // CHECK: %t = "x86.permutexvar"(%table, %i) : (vector<16xf32>, vector<64xi32>) -> vector<64xf32>
  %t = "x86.permutexvar"(%table, %i) : (vector<16xf32>, vector<64xi32>) -> vector<64xf32>
  // CHECK: %y = "x86.scalef"(%t, %e) : (vector<64xf32>, vector<64xf32>) -> vector<64xf32>
  %y = "x86.scalef"(%t, %e) : (vector<64xf32>, vector<64xf32>) -> vector<64xf32>
  func.return %y : vector<64xf32>
}

// CHECK-LABEL: func.func @eight
func.func @eight(%table: vector<8xf32>, %i: vector<16xi32>) -> vector<16xf32> {
  // CHECK: %t = "x86.permutexvar"(%table, %i) : (vector<8xf32>, vector<16xi32>) -> vector<16xf32>
  %t = "x86.permutexvar"(%table, %i) : (vector<8xf32>, vector<16xi32>) -> vector<16xf32>
  func.return %t : vector<16xf32>
}

// CHECK-LABEL: func.func @narrow
func.func @narrow(%x: vector<32xf32>) -> vector<32xbf16> {
  // CHECK: %y = "x86.cvtneps_pbh"(%x) : (vector<32xf32>) -> vector<32xbf16>
  %y = "x86.cvtneps_pbh"(%x) : (vector<32xf32>) -> vector<32xbf16>
  func.return %y : vector<32xbf16>
}
