// RUN: lamina-opt %s -p convert-dot-to-llvm | filecheck %s
// The default machine has AVX2: pairs of 16 bits have an instruction of 8 lanes, the others do not.

// CHECK-LABEL: func.func @pairs
func.func @pairs(%a: vector<32xi16>, %b: vector<32xi16>, %c: vector<16xi32>) -> vector<16xi32> {
  // CHECK-NEXT: %[[A0:.*]] = vector.shuffle %a, %a [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] : vector<32xi16>, vector<32xi16>
  // CHECK-NEXT: %[[B0:.*]] = vector.shuffle %b, %b [0, {{.*}} 15]
  // CHECK-NEXT: %[[P0:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%[[A0]], %[[B0]]) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
  // CHECK-NEXT: %[[A1:.*]] = vector.shuffle %a, %a [16, {{.*}} 31]
  // CHECK-NEXT: %[[B1:.*]] = vector.shuffle %b, %b [16, {{.*}} 31]
  // CHECK-NEXT: %[[P1:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%[[A1]], %[[B1]])
  // CHECK-NEXT: %[[P:.*]] = vector.shuffle %[[P0]], %[[P1]]
  // CHECK-NEXT: %[[S:.*]] = arith.addi %c, %[[P]] : vector<16xi32>
  // CHECK-NEXT: func.return %[[S]]
  %s = dot.product %a, %b, %c : vector<32xi16>, vector<32xi16> into vector<16xi32>
  func.return %s : vector<16xi32>
}

// Two lanes: less than an instruction takes.
// CHECK-LABEL: func.func @few
func.func @few(%a: vector<4xi16>, %b: vector<4xi16>, %c: vector<2xi32>) -> vector<2xi32> {
  // CHECK: vector.shuffle %a, %a [0, 1, 2, 3, 3, 3, 3, 3]
  // CHECK: llvm.call_intrinsic "llvm.x86.sse2.pmadd.wd"
  // CHECK: vector.shuffle {{.*}} [0, 1] : vector<4xi32>, vector<4xi32>
  %s = dot.product %a, %b, %c : vector<4xi16>, vector<4xi16> into vector<2xi32>
  func.return %s : vector<2xi32>
}

// CHECK-LABEL: func.func @quads
func.func @quads(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<8xi32>) -> vector<8xi32> {
  // CHECK: vector.shuffle %a, %a [0, 4, 8, 12, 16, 20, 24, 28]
  // CHECK-NEXT: arith.extui
  // CHECK: arith.extsi
  // CHECK: arith.muli
  // CHECK: arith.addi %c
  // CHECK-NOT: pmadd
  %s = dot.product %a, %b, %c {unsigned_lhs} : vector<32xi8>, vector<32xi8> into vector<8xi32>
  func.return %s : vector<8xi32>
}

// CHECK-LABEL: func.func @halves
func.func @halves(%a: vector<16xbf16>, %b: vector<16xbf16>, %c: vector<8xf32>) -> vector<8xf32> {
  // CHECK: vector.bitcast %a : vector<16xbf16> to vector<8xi32>
  // CHECK: arith.shli
  // CHECK: vector.fma
  // CHECK: arith.andi
  // CHECK: vector.fma
  %s = dot.product %a, %b, %c : vector<16xbf16>, vector<16xbf16> into vector<8xf32>
  func.return %s : vector<8xf32>
}

// Bytes whose pairs fit in 16 bits: twice the lanes, then pairs of those.
// CHECK-LABEL: func.func @pairs_of_bytes
func.func @pairs_of_bytes(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<8xi32>) -> vector<8xi32> {
  // CHECK-NEXT: %[[W:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"(%a, %b) : (vector<32xi8>, vector<32xi8>) -> vector<16xi16>
  // CHECK-NEXT: %[[ONE:.*]] = arith.constant dense<1> : vector<16xi16>
  // CHECK-NEXT: %[[P:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%[[W]], %[[ONE]]) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
  // CHECK-NEXT: arith.addi %c, %[[P]]
  %s = dot.product %a, %b, %c {unsigned_lhs, pairs_fit} : vector<32xi8>, vector<32xi8> into vector<8xi32>
  func.return %s : vector<8xi32>
}
