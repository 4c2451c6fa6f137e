// RUN: lamina-opt %s --machine x86-64-amx -p convert-rounding-to-x86 | filecheck %s
// RUN: lamina-opt %s --machine x86-64-avx512 -p convert-rounding-to-x86 | filecheck %s --check-prefix=WITHOUT

// WITHOUT-NOT: x86.

// CHECK-LABEL: func.func @vectors
func.func @vectors(%x: vector<16xf32>, %y: vector<5xf32>) -> (vector<16xbf16>, vector<5xbf16>) {
  // CHECK-NEXT: %a = "x86.cvtneps_pbh"(%x) : (vector<16xf32>) -> vector<16xbf16>
  // CHECK-NEXT: %b = "x86.cvtneps_pbh"(%y) : (vector<5xf32>) -> vector<5xbf16>
  %a = arith.truncf %x {flushes} : vector<16xf32> to vector<16xbf16>
  %b = arith.truncf %y {flushes} : vector<5xf32> to vector<5xbf16>
  func.return %a, %b : vector<16xbf16>, vector<5xbf16>
}

// What must know subnormal numbers, other types, and single numbers.
// CHECK-LABEL: func.func @others
func.func @others(%x: vector<16xf32>, %y: vector<16xf64>, %z: f32) -> (vector<16xbf16>, vector<16xf16>, vector<16xbf16>, bf16) {
  // CHECK-NOT: x86.
  // CHECK: func.return
  %a = arith.truncf %x : vector<16xf32> to vector<16xbf16>
  %b = arith.truncf %x {flushes} : vector<16xf32> to vector<16xf16>
  %c = arith.truncf %y {flushes} : vector<16xf64> to vector<16xbf16>
  %d = arith.truncf %z {flushes} : f32 to bf16
  func.return %a, %b, %c, %d : vector<16xbf16>, vector<16xf16>, vector<16xbf16>, bf16
}
