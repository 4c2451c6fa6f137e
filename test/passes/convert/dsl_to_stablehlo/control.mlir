// Control flow inside of index notation, calls, and what does not depend on an index.
// RUN: lamina-opt %s -p convert-dsl-to-stablehlo,canonicalize,cse | filecheck %s

// Every element goes on until its own condition fails.
// CHECK-LABEL: func.func @newton(
// CHECK: [[FIRST:%.*]] = stablehlo.compare GT
// CHECK: stablehlo.while([[ON:%.*]] = [[FIRST]], [[OLD:%.*]] = %{{.*}}) : tensor<5xi1>, tensor<5xf32>
// CHECK-NEXT: cond {
// CHECK: [[ANY:%.*]] = stablehlo.reduce([[ON]] init: {{.*}}) applies stablehlo.or across dimensions = [0]
// CHECK-NEXT: stablehlo.return [[ANY]] : tensor<i1>
// CHECK: do {
// CHECK: [[NEW:%.*]] = stablehlo.divide [[OLD]]
// CHECK-NEXT: [[KEPT:%.*]] = stablehlo.select [[ON]], [[NEW]], [[OLD]]
// CHECK: [[AGAIN:%.*]] = stablehlo.compare GT, [[KEPT]]
// CHECK-NEXT: [[STILL:%.*]] = stablehlo.and [[AGAIN]], [[ON]]
// CHECK-NEXT: stablehlo.return [[STILL]], [[KEPT]]
func.func @newton(%x: tensor<5xf32>) -> tensor<5xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %y = dsl.comprehension [5] {
  ^bb0(%i: tensor<i64>):
    %a = dsl.access %x[%i] : tensor<5xf32>
    %r = stablehlo.while(%z = %a) : tensor<f32>
    cond {
      %p = stablehlo.compare GT, %z, %one : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %h = stablehlo.divide %z, %two : tensor<f32>
      stablehlo.return %h : tensor<f32>
    }
    dsl.yield %r : tensor<f32>
  } : tensor<5xf32>
  func.return %y : tensor<5xf32>
}

// Elements that differ in the condition take both arms; a loop in an arm runs for its own elements only.
// CHECK-LABEL: func.func @chosen(
// CHECK: %p = stablehlo.compare GT
// CHECK-NEXT: %q = stablehlo.compare NE
// CHECK-NEXT: [[ON:%.*]] = stablehlo.and %q, %p : tensor<5xi1>
// CHECK-NEXT: {{.*}} stablehlo.while({{.*}} = [[ON]], {{.*}} = %x)
// CHECK: stablehlo.negate %x
// CHECK-NEXT: stablehlo.select %p
func.func @chosen(%x: tensor<5xf32>) -> tensor<5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = dsl.comprehension [5] {
  ^bb0(%i: tensor<i64>):
    %a = dsl.access %x[%i] : tensor<5xf32>
    %p = stablehlo.compare GT, %a, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %r = "stablehlo.if"(%p) ({
      %r = stablehlo.while(%z = %a) : tensor<f32>
      cond {
        %q = stablehlo.compare NE, %z, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %q : tensor<i1>
      } do {
        stablehlo.return %zero : tensor<f32>
      }
      stablehlo.return %r : tensor<f32>
    }, {
      %n = stablehlo.negate %a : tensor<f32>
      stablehlo.return %n : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    dsl.yield %r : tensor<f32>
  } : tensor<5xf32>
  func.return %y : tensor<5xf32>
}

// A condition for all of them stays an if.
// CHECK-LABEL: func.func @common(
// CHECK: "stablehlo.if"(%p) ({
// CHECK-NEXT: stablehlo.return %x : tensor<5xf32>
// CHECK-NEXT: }, {
// CHECK-NEXT: [[N:%.*]] = stablehlo.negate %x : tensor<5xf32>
// CHECK-NEXT: stablehlo.return [[N]] : tensor<5xf32>
func.func @common(%p: tensor<i1>, %x: tensor<5xf32>) -> tensor<5xf32> {
  %y = dsl.comprehension [5] {
  ^bb0(%i: tensor<i64>):
    %a = dsl.access %x[%i] : tensor<5xf32>
    %r = "stablehlo.if"(%p) ({
      stablehlo.return %a : tensor<f32>
    }, {
      %n = stablehlo.negate %a : tensor<f32>
      stablehlo.return %n : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    dsl.yield %r : tensor<f32>
  } : tensor<5xf32>
  func.return %y : tensor<5xf32>
}

// Each number chooses its branch.
// CHECK-LABEL: func.func @cases(
// CHECK: stablehlo.compare EQ
// CHECK: stablehlo.select {{%.*}}, %x, %v : tensor<5xi1>, tensor<5xf32>
func.func @cases(%c: tensor<5xi32>, %x: tensor<5xf32>, %v: tensor<5xf32>) -> tensor<5xf32> {
  %y = dsl.comprehension [5] {
  ^bb0(%i: tensor<i64>):
    %k = dsl.access %c[%i] : tensor<5xi32>
    %r = "stablehlo.case"(%k) ({
      %a = dsl.access %x[%i] : tensor<5xf32>
      stablehlo.return %a : tensor<f32>
    }, {
      %b = dsl.access %v[%i] : tensor<5xf32>
      stablehlo.return %b : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    dsl.yield %r : tensor<f32>
  } : tensor<5xf32>
  func.return %y : tensor<5xf32>
}

// A function of scalars is inlined; what depends on no index, of any rank, is computed once.
// CHECK-NOT: @scaled
func.func private @scaled(%a: tensor<f32>, %s: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.multiply %a, %s : tensor<f32>
  func.return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @called(
// CHECK-NEXT: %t = stablehlo.tanh %x : tensor<3x5xf32>
// CHECK-NEXT: [[S:%.*]] = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
// CHECK-NEXT: %r = stablehlo.multiply %t, [[S]] : tensor<3x5xf32>
// CHECK-NEXT: stablehlo.transpose %r, dims = [1, 0]
func.func @called(%x: tensor<3x5xf32>, %s: tensor<f32>) -> tensor<5x3xf32> {
  %y = dsl.comprehension [5, 3] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %t = stablehlo.tanh %x : tensor<3x5xf32>
    %a = dsl.access %t[%j, %i] : tensor<3x5xf32>
    %r = func.call @scaled(%a, %s) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    dsl.yield %r : tensor<f32>
  } : tensor<5x3xf32>
  func.return %y : tensor<5x3xf32>
}

// A tensor made inside, that depends on an index, has it as a further axis.
// CHECK-LABEL: func.func @nested(
// CHECK: [[E:%.*]] = stablehlo.exponential %x : tensor<4x3xf32>
// CHECK: stablehlo.reduce([[E]] init: {{.*}}) applies stablehlo.add across dimensions = [1]
func.func @nested(%x: tensor<4x3xf32>) -> tensor<4xf32> {
  %y = dsl.comprehension [4] {
  ^bb0(%i: tensor<i64>):
    %row = dsl.comprehension [3] {
    ^bb0(%j: tensor<i64>):
      %a = dsl.access %x[%i, %j] : tensor<4x3xf32>
      %e = stablehlo.exponential %a : tensor<f32>
      dsl.yield %e : tensor<f32>
    } : tensor<3xf32>
    %s = dsl.reduce sum [3] {
    ^bb0(%k: tensor<i64>):
      %b = dsl.access %row[%k] : tensor<3xf32>
      dsl.yield %b : tensor<f32>
    } : tensor<f32>
    dsl.yield %s : tensor<f32>
  } : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
