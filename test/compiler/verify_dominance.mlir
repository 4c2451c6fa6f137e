// RUN: lamina-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: func.func @good
func.func @good(%c: i1, %a: i32) -> i32 {
  cf.cond_br %c, ^one, ^two
^two:
  %y = arith.addi %a, %a : i32
  cf.br ^end(%y : i32)
^one:
  cf.br ^end(%a : i32)
^end(%z: i32):
  return %z : i32
}

// -----

func.func @same_block(%a: i32) {
  // expected-error@+2 {{operand #0 (%x) does not dominate this use}}
  // expected-note@+2 {{see the operand's definition here}}
  %y = arith.addi %x, %a : i32
  %x = arith.addi %a, %a : i32
  return
}

// -----

func.func @other_branch(%c: i1, %a: i32) -> i32 {
  cf.cond_br %c, ^one, ^two
^one:
  // expected-note@+1 {{see the operand's definition here}}
  %x = arith.addi %a, %a : i32
  cf.br ^two
^two:
  // expected-error@+1 {{operand #0 (%x) does not dominate this use}}
  return %x : i32
}

// -----

func.func @isolated(%a: i32) {
  "builtin.module"() ({
    // expected-error@+1 {{from outside 'func.func', which is isolated from above}}
    func.func @inner() -> i32 { return %a : i32 }
  }) : () -> ()
  return
}

// -----

// expected-error@+1 {{ends its block but is not a terminator}}
func.func @end(%a: i32) { %0 = arith.addi %a, %a : i32 }

// -----

// expected-note@+1 {{it is (i32) -> i32}}
func.func private @callee(i32) -> i32
func.func @calls(%a: i64) {
  // expected-error@+1 {{calls @callee as (i64) -> (i32)}}
  %0 = func.call @callee(%a) : (i64) -> i32
  return
}

// -----

func.func @calls_nothing() {
  // expected-error@+1 {{calls @nobody, which does not exist}}
  func.call @nobody() : () -> ()
  return
}
