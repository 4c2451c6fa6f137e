// RUN: lamina-opt %s --split-input-file -p stablehlo-outline-repeats{ops=6} | filecheck %s

// An op of its own, then three layers that are equal but for their weights: those are arguments, the last ones. The
// constant that all share is inside, with what is spread out from it.

// CHECK-LABEL: func.func public @main
// CHECK:         %x = stablehlo.add %a, %b
// CHECK-NEXT:    %0 = func.call @repeat_0(%x, %b, %w0)
// CHECK-NEXT:    %1 = func.call @repeat_0(%0, %b, %w1)
// CHECK-NEXT:    %2 = func.call @repeat_0(%1, %b, %w2)
// CHECK-NEXT:    func.return %2
// CHECK:       func.func private @repeat_0(%x: tensor<4xf32>, %b: tensor<4xf32>, %w0: tensor<4xf32>) -> tensor<4xf32>
// CHECK-SAME:  lamina.constant_args = 1 : i64
// CHECK-NEXT:    %two = stablehlo.constant
// CHECK-NEXT:    %s = stablehlo.broadcast_in_dim %two
// CHECK-NEXT:    %0 = stablehlo.multiply %x, %w0
// CHECK-NEXT:    %1 = stablehlo.multiply %0, %s
// CHECK-NEXT:    %2 = stablehlo.subtract %1, %b
// CHECK-NEXT:    %3 = stablehlo.tanh %2
// CHECK-NEXT:    func.return %3
func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %w0 = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %w1 = stablehlo.constant dense<[5.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %w2 = stablehlo.constant dense<[6.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %s = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %x = stablehlo.add %a, %b : tensor<4xf32>
  %0 = stablehlo.multiply %x, %w0 : tensor<4xf32>
  %1 = stablehlo.multiply %0, %s : tensor<4xf32>
  %2 = stablehlo.subtract %1, %b : tensor<4xf32>
  %3 = stablehlo.tanh %2 : tensor<4xf32>
  %4 = stablehlo.multiply %3, %w1 : tensor<4xf32>
  %5 = stablehlo.multiply %4, %s : tensor<4xf32>
  %6 = stablehlo.subtract %5, %b : tensor<4xf32>
  %7 = stablehlo.tanh %6 : tensor<4xf32>
  %8 = stablehlo.multiply %7, %w2 : tensor<4xf32>
  %9 = stablehlo.multiply %8, %s : tensor<4xf32>
  %10 = stablehlo.subtract %9, %b : tensor<4xf32>
  %11 = stablehlo.tanh %10 : tensor<4xf32>
  func.return %11 : tensor<4xf32>
}

// -----

// Two layers are too few, and so are copies that are wired differently.

// CHECK-LABEL: func.func public @two
// CHECK-NOT:     func.call
func.func public @two(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %a, %b : tensor<4xf32>
  %1 = stablehlo.subtract %0, %b : tensor<4xf32>
  %2 = stablehlo.tanh %1 : tensor<4xf32>
  %3 = stablehlo.multiply %2, %b : tensor<4xf32>
  %4 = stablehlo.subtract %3, %b : tensor<4xf32>
  %5 = stablehlo.tanh %4 : tensor<4xf32>
  func.return %5 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func public @wired_differently
// CHECK-NOT:     func.call
func.func public @wired_differently(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %a, %b : tensor<4xf32>
  %1 = stablehlo.subtract %0, %b : tensor<4xf32>
  %2 = stablehlo.tanh %1 : tensor<4xf32>
  %3 = stablehlo.multiply %2, %b : tensor<4xf32>
  %4 = stablehlo.subtract %b, %3 : tensor<4xf32>
  %5 = stablehlo.tanh %4 : tensor<4xf32>
  %6 = stablehlo.multiply %5, %b : tensor<4xf32>
  %7 = stablehlo.subtract %6, %b : tensor<4xf32>
  %8 = stablehlo.tanh %7 : tensor<4xf32>
  func.return %8 : tensor<4xf32>
}

// -----

// A chain of one op is left: a call of it would be a chain of one op, too.

// CHECK-LABEL: func.func public @main
// CHECK-NOT:     func.call
// CHECK:         func.return
func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  %1 = stablehlo.tanh %0 : tensor<4xf32>
  %2 = stablehlo.tanh %1 : tensor<4xf32>
  %3 = stablehlo.tanh %2 : tensor<4xf32>
  %4 = stablehlo.tanh %3 : tensor<4xf32>
  %5 = stablehlo.tanh %4 : tensor<4xf32>
  %6 = stablehlo.tanh %5 : tensor<4xf32>
  %7 = stablehlo.tanh %6 : tensor<4xf32>
  func.return %7 : tensor<4xf32>
}

// -----

// Comparisons of other types give results of one type, and yet are no repetition.

// CHECK-LABEL: func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf64>
// CHECK-NOT: func.call
func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf64>, %c: tensor<4xi32>, %d: tensor<4xi8>, %z: tensor<4xi1>) -> tensor<4xi1> {
  %0 = stablehlo.compare EQ, %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = stablehlo.or %0, %z : tensor<4xi1>
  %2 = stablehlo.compare EQ, %b, %b : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  %3 = stablehlo.or %2, %1 : tensor<4xi1>
  %4 = stablehlo.compare EQ, %c, %c : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %5 = stablehlo.or %4, %3 : tensor<4xi1>
  %6 = stablehlo.compare EQ, %d, %d : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi1>
  %7 = stablehlo.or %6, %5 : tensor<4xi1>
  func.return %7 : tensor<4xi1>
}

// -----

// Copies that differ by which slice of one value each works on: the slices stay outside, and are given.

// CHECK-LABEL: func.func public @slices
// CHECK:         %[[A:.*]] = stablehlo.slice %x [0:1, 0:4]
// CHECK:         %[[P:.*]] = func.call @repeat_0(%[[A]])
// CHECK:         %[[B:.*]] = stablehlo.slice %x [1:2, 0:4]
// CHECK:         %[[Q:.*]] = func.call @repeat_0(%[[B]])
// CHECK:         %[[C:.*]] = stablehlo.slice %x [2:3, 0:4]
// CHECK:         %[[R:.*]] = func.call @repeat_0(%[[C]])
// CHECK:         stablehlo.concatenate %[[P]], %[[Q]], %[[R]]
// CHECK:       func.func private @repeat_0(%{{.*}}: tensor<1x4xf32>) -> tensor<1x4xf32>
// CHECK-NOT:     stablehlo.slice
// CHECK:         stablehlo.tanh
// CHECK:         stablehlo.multiply
// CHECK:         stablehlo.negate
func.func public @slices(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %s0 = stablehlo.slice %x [0:1, 0:4] : (tensor<3x4xf32>) -> tensor<1x4xf32>
  %a0 = stablehlo.tanh %s0 : tensor<1x4xf32>
  %b0 = stablehlo.multiply %a0, %a0 : tensor<1x4xf32>
  %c0 = stablehlo.negate %b0 : tensor<1x4xf32>
  %s1 = stablehlo.slice %x [1:2, 0:4] : (tensor<3x4xf32>) -> tensor<1x4xf32>
  %a1 = stablehlo.tanh %s1 : tensor<1x4xf32>
  %b1 = stablehlo.multiply %a1, %a1 : tensor<1x4xf32>
  %c1 = stablehlo.negate %b1 : tensor<1x4xf32>
  %s2 = stablehlo.slice %x [2:3, 0:4] : (tensor<3x4xf32>) -> tensor<1x4xf32>
  %a2 = stablehlo.tanh %s2 : tensor<1x4xf32>
  %b2 = stablehlo.multiply %a2, %a2 : tensor<1x4xf32>
  %c2 = stablehlo.negate %b2 : tensor<1x4xf32>
  %y = stablehlo.concatenate %c0, %c1, %c2, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

// Slices of what each copy makes itself are no such thing.

// CHECK-LABEL: func.func public @own
// CHECK-NOT:     func.call
func.func public @own(%x: tensor<3x4xf32>) -> tensor<1x4xf32> {
  %a0 = stablehlo.tanh %x : tensor<3x4xf32>
  %s0 = stablehlo.slice %a0 [0:1, 0:4] : (tensor<3x4xf32>) -> tensor<1x4xf32>
  %b0 = stablehlo.negate %s0 : tensor<1x4xf32>
  %a1 = stablehlo.tanh %x : tensor<3x4xf32>
  %s1 = stablehlo.slice %a1 [1:2, 0:4] : (tensor<3x4xf32>) -> tensor<1x4xf32>
  %b1 = stablehlo.negate %s1 : tensor<1x4xf32>
  %a2 = stablehlo.tanh %x : tensor<3x4xf32>
  %s2 = stablehlo.slice %a2 [2:3, 0:4] : (tensor<3x4xf32>) -> tensor<1x4xf32>
  %b2 = stablehlo.negate %s2 : tensor<1x4xf32>
  %c = stablehlo.add %b0, %b1 : tensor<1x4xf32>
  %d = stablehlo.add %c, %b2 : tensor<1x4xf32>
  func.return %d : tensor<1x4xf32>
}
