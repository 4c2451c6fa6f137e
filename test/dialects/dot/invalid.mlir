// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @lanes(%a: vector<32xi16>, %c: vector<8xi32>) {
  // expected-error@+1 {{vector<32xi16> does not hold 2 elements for each lane of vector<8xi32> (C3)}}
  %0 = dot.product %a, %a, %c : vector<32xi16>, vector<32xi16> into vector<8xi32>
  func.return
}

// -----

func.func @sums(%a: vector<32xi16>, %c: vector<16xf32>) {
  // expected-error@+1 {{no sums of i16 in f32 (C2)}}
  %0 = dot.product %a, %a, %c : vector<32xi16>, vector<32xi16> into vector<16xf32>
  func.return
}

// -----

func.func @elements(%a: vector<16xi32>, %c: vector<16xi32>) {
  // expected-error@+1 {{no sums of i32 in i32 (C2)}}
  %0 = dot.product %a, %a, %c : vector<16xi32>, vector<16xi32> into vector<16xi32>
  func.return
}
