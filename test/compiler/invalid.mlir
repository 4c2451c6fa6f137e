// RUN: lamina-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{this string is not closed on its line}}
func.func private @f() attributes {a = "the quote that is never closed, with a long tail which must not take time}

// -----

// expected-error@+1 {{there is no dialect 'foo'}}
foo.bar

// -----

func.func @undefined() -> i32 {
  // expected-error@+1 {{use of undeclared value %x}}
  return %x : i32
}

// -----

func.func @twice(%a: i32) {
  %0 = arith.addi %a, %a : i32
  // expected-error@+1 {{SSA value %0 is already defined}}
  %0 = arith.addi %a, %a : i32
  return
}

// -----

func.func @types(%a: i32) {
  // expected-error@+1 {{operand is used with type i64}}
  %0 = arith.addi %a, %a : i64
  return
}

// -----

// expected-error@+1 {{Multiplication with non-constant}}
#map = affine_map<(a, b) -> (a * b)>

// -----

func.func @results(%a: i32) {
  // expected-error@+1 {{operation has 1 results, but 2 names are given}}
  %0:2 = arith.addi %a, %a : i32
  return
}

// -----

func.func @block() {
  // expected-error@+3 {{missing block declarations}}
  cf.br ^nowhere
}
func.func @more() { return }

// -----

// expected-error@+1 {{the body of a module takes no arguments}}
builtin.module {
^bb0(%a: tensor<3xf32>):
  func.func private @f()
}

// -----

builtin.module {
  func.func private @f()
  // expected-error@+1 {{ends its block, and the body of a module has no end}}
  stablehlo.return
}
