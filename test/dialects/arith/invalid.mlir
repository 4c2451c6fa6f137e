// RUN: lamina-opt %s --split-input-file --verify-diagnostics
func.func @shapes(%x: vector<8xi8>) {
  // expected-error@+1 {{operand vector<8xi8> and result vector<4xi32> have different shapes}}
  %y = "arith.extsi"(%x) : (vector<8xi8>) -> vector<4xi32>
  func.return
}

// -----

func.func @narrower(%x: i32) {
  // expected-error@+1 {{the result must be wider: i32 to i8}}
  %y = arith.extsi %x : i32 to i8
  func.return
}

// -----

func.func @condition(%c: vector<4xi1>, %x: vector<8xf32>) {
  // expected-error@+1 {{the condition must be i1 or vector<8xi1>, got vector<4xi1>}}
  %y = arith.select %c, %x, %x : vector<4xi1>, vector<8xf32>
  func.return
}
