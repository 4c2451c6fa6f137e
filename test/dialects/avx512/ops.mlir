// RUN: lamina-opt %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @power
func.func @power(%table: vector<16xf32>, %i: vector<64xi32>, %e: vector<64xf32>) -> vector<64xf32> {
  // CHECK: %t = "avx512.permutexvar"(%table, %i) : (vector<16xf32>, vector<64xi32>) -> vector<64xf32>
  %t = "avx512.permutexvar"(%table, %i) : (vector<16xf32>, vector<64xi32>) -> vector<64xf32>
  // CHECK: %y = "avx512.scalef"(%t, %e) : (vector<64xf32>, vector<64xf32>) -> vector<64xf32>
  %y = "avx512.scalef"(%t, %e) : (vector<64xf32>, vector<64xf32>) -> vector<64xf32>
  func.return %y : vector<64xf32>
}
