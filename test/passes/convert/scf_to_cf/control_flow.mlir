// RUN: lamina-opt %s -p convert-scf-to-cf | filecheck %s

// CHECK-LABEL: func.func @loop
func.func @loop(%lo: index, %hi: index, %step: index, %init: f32) -> f32 {
  // CHECK: cf.br ^[[HEAD:.*]](%lo, %init : index, f32)
  // CHECK: ^[[HEAD]](%[[I:.*]]: index, %[[ACC:.*]]: f32):
  // CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[I]], %hi : index
  // CHECK: cf.cond_br %[[MORE]], ^[[BODY:.*]], ^[[END:.*]]
  // CHECK: ^[[BODY]]:
  %r = scf.for %i = %lo to %hi step %step iter_args(%acc = %init) -> (f32) {
    // CHECK: %s = arith.addf %[[ACC]], %[[ACC]] : f32
    %s = arith.addf %acc, %acc : f32
    // CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %step overflow<nsw> : index
    // CHECK: cf.br ^[[HEAD]](%[[NEXT]], %s : index, f32)
    scf.yield %s : f32
  }
  // CHECK: ^[[END]]:
  // CHECK: func.return %[[ACC]] : f32
  func.return %r : f32
}

// What has a round, by its bounds, is tested at the end of each.
// CHECK-LABEL: func.func @has_a_round
func.func @has_a_round(%step: index, %init: f32) -> f32 {
  %lo = arith.constant 2 : index
  %hi = arith.constant 9 : index
  // CHECK: cf.br ^[[BODY:.*]](%lo, %init : index, f32)
  // CHECK-NEXT: ^[[BODY]](%[[I:.*]]: index, %[[ACC:.*]]: f32):
  %r = scf.for %i = %lo to %hi step %step iter_args(%acc = %init) -> (f32) {
    // CHECK-NEXT: %s = arith.addf %[[ACC]], %[[ACC]] : f32
    %s = arith.addf %acc, %acc : f32
    // CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[I]], %step overflow<nsw> : index
    // CHECK-NEXT: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %hi : index
    // CHECK-NEXT: cf.cond_br %[[MORE]], ^[[BODY]](%[[NEXT]], %s : index, f32), ^[[END:.*]]
    scf.yield %s : f32
  }
  // CHECK-NEXT: ^[[END]]:
  // CHECK-NEXT: func.return %s : f32
  func.return %r : f32
}

// Where steps lead to the end, that is what is asked for.
// CHECK-LABEL: func.func @to_the_end
func.func @to_the_end(%m: memref<8xf32>) {
  %lo = arith.constant 1 : index
  %hi = arith.constant 7 : index
  %two = arith.constant 2 : index
  %four = arith.constant 4 : index
  // CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %two overflow<nsw> : index
  // CHECK-NEXT: arith.cmpi ne, %[[NEXT]], %hi : index
  scf.for %i = %lo to %hi step %two {
    %x = memref.load %m[%i] : memref<8xf32>
  }
  // CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %four overflow<nsw> : index
  // CHECK-NEXT: arith.cmpi slt, %[[NEXT]], %hi : index
  scf.for %i = %lo to %hi step %four {
    %x = memref.load %m[%i] : memref<8xf32>
  }
  func.return
}

// From a value to more than it, if the sum does not wrap: in this one it does not, in the next it might.
// CHECK-LABEL: func.func @more_than_it
func.func @more_than_it(%m: memref<8xf32>, %lo: index, %step: index) {
  %four = arith.constant 4 : index
  %hi = arith.addi %lo, %four overflow<nsw> : index
  // CHECK: cf.br ^[[BODY:.*]](%lo : index)
  // CHECK-NEXT: ^[[BODY]](%[[I:.*]]: index):
  // CHECK-NEXT: %x = memref.load %m[%[[I]]]
  scf.for %i = %lo to %hi step %step {
    %x = memref.load %m[%i] : memref<8xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @may_wrap
func.func @may_wrap(%m: memref<8xf32>, %lo: index, %step: index) {
  %four = arith.constant 4 : index
  %hi = arith.addi %lo, %four : index
  // CHECK: ^{{.*}}(%[[I:.*]]: index):
  // CHECK-NEXT: arith.cmpi slt, %[[I]], %hi : index
  scf.for %i = %lo to %hi step %step {
    %x = memref.load %m[%i] : memref<8xf32>
  }
  func.return
}

// Constants that say that there is none leave the test where it was.
// CHECK-LABEL: func.func @none
func.func @none(%m: memref<8xf32>, %step: index) {
  %lo = arith.constant 4 : index
  // CHECK: ^{{.*}}(%[[I:.*]]: index):
  // CHECK-NEXT: arith.cmpi slt, %[[I]], %lo : index
  scf.for %i = %lo to %lo step %step {
    %x = memref.load %m[%i] : memref<8xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @branches
func.func @branches(%c: i1, %x: f32, %y: f32) -> f32 {
  // CHECK: cf.cond_br %c, ^[[THEN:.*]], ^[[ELSE:.*]]
  // CHECK: ^[[THEN]]:
  // CHECK: cf.br ^[[END:.*]](%x : f32)
  // CHECK: ^[[ELSE]]:
  // CHECK: cf.br ^[[END]](%y : f32)
  // CHECK: ^[[END]](%[[R:.*]]: f32):
  %r = scf.if %c -> (f32) {
    scf.yield %x : f32
  } else {
    scf.yield %y : f32
  }
  // CHECK: func.return %[[R]] : f32
  func.return %r : f32
}

// CHECK-LABEL: func.func @while
func.func @while(%init: index, %limit: index) -> index {
  // CHECK: cf.br ^[[BEFORE:.*]](%init : index)
  // CHECK: ^[[BEFORE]](%[[X:.*]]: index):
  // CHECK: cf.cond_br %more, ^[[AFTER:.*]], ^[[END:.*]]
  %r = scf.while (%x = %init) : (index) -> index {
    %more = arith.cmpi slt, %x, %limit : index
    scf.condition(%more) %x : index
  } do {
  ^bb0(%x: index):
    // CHECK: ^[[AFTER]]:
    // CHECK: cf.br ^[[BEFORE]](%next : index)
    %next = arith.addi %x, %x : index
    scf.yield %next : index
  }
  // CHECK: func.return %[[X]] : index
  func.return %r : index
}

// CHECK-LABEL: func.func @nested
func.func @nested(%m: memref<8xf32>, %zero: index, %n: index, %one: index, %c: i1) {
  scf.for %i = %zero to %n step %one {
    scf.if %c {
      scf.for %j = %zero to %n step %one {
        %x = memref.load %m[%j] : memref<8xf32>
      }
    }
  }
  // CHECK-NOT: scf.
  // CHECK: func.return
  func.return
}
