// RUN: lamina-opt %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @products
func.func @products(%a: vector<32xi16>, %b: vector<64xi8>, %h: vector<32xbf16>, %i: vector<16xi32>, %f: vector<16xf32>) {
  // CHECK: dot.product %a, %a, %i : vector<32xi16>, vector<32xi16> into vector<16xi32>
  %0 = dot.product %a, %a, %i : vector<32xi16>, vector<32xi16> into vector<16xi32>
  // CHECK: dot.product %b, %b, %i {unsigned_lhs} : vector<64xi8>, vector<64xi8> into vector<16xi32>
  %1 = dot.product %b, %b, %i {unsigned_lhs} : vector<64xi8>, vector<64xi8> into vector<16xi32>
  // CHECK: dot.product %b, %b, %i {unsigned_lhs, pairs_fit} : vector<64xi8>, vector<64xi8> into vector<16xi32>
  %3 = dot.product %b, %b, %i {unsigned_lhs, pairs_fit} : vector<64xi8>, vector<64xi8> into vector<16xi32>
  // CHECK: dot.product %h, %h, %f : vector<32xbf16>, vector<32xbf16> into vector<16xf32>
  %2 = dot.product %h, %h, %f : vector<32xbf16>, vector<32xbf16> into vector<16xf32>
  func.return
}
