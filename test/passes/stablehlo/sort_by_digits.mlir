// RUN: lamina-opt %s -p stablehlo-sort-by-digits | filecheck %s

// Bits of floats in their order, above their places; what goes along is taken from there.
// CHECK-LABEL: func.func @total
// CHECK:       %[[B:.*]] = stablehlo.bitcast_convert %x : (tensor<100xf32>) -> tensor<100xi32>
// CHECK:       stablehlo.shift_left
// CHECK:       %[[S:.*]] = "stablehlo.sort"
// CHECK:       stablehlo.compare LT
// CHECK:       lamina.bits = array<i64: 32, 64>
// CHECK:       stablehlo.and
// CHECK:       "stablehlo.gather"
// CHECK:       "stablehlo.gather"
// CHECK:       func.return
func.func @total(%x: tensor<100xf32>, %y: tensor<100xi8>) -> (tensor<100xf32>, tensor<100xi8>) {
  %s:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i8>, %d: tensor<i8>):
    %r = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<100xf32>, tensor<100xi8>) -> (tensor<100xf32>, tensor<100xi8>)
  return %s#0, %s#1 : tensor<100xf32>, tensor<100xi8>
}

// Numbers of 64 bits have their places beside them.
// CHECK-LABEL: func.func @wide
// CHECK:       "stablehlo.sort"(%{{.*}}, %{{.*}})
// CHECK:       lamina.bits = array<i64: 0, 64>
// CHECK-SAME:  (tensor<1x100xi64>, tensor<1x100xi64>)
func.func @wide(%x: tensor<100xi64>) -> tensor<100xi64> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %r = stablehlo.compare GT, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<100xi64>) -> tensor<100xi64>
  return %s : tensor<100xi64>
}

// A few of many: blocks of four and of sixteen, in which the lowest are looked for bit by bit; then these in order.
// CHECK-LABEL: func.func @few
// CHECK:       stablehlo.reduce({{.*}} stablehlo.minimum across dimensions = [2] : (tensor<1x2500x4xi32>, tensor<i32>) -> tensor<1x2500xi32>
// CHECK:       stablehlo.reduce({{.*}} stablehlo.minimum across dimensions = [2] : (tensor<1x625x4xi32>, tensor<i32>) -> tensor<1x625xi32>
// CHECK:       stablehlo.while
// CHECK:       "stablehlo.sort"
// CHECK:       lamina.bits = array<i64: 32, 64>
// CHECK-SAME:  (tensor<1x100xi64>)
func.func @few(%x: tensor<10000xi32>) -> tensor<100xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %r = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<10000xi32>) -> tensor<10000xi32>
  %k = stablehlo.slice %s [0:100] : (tensor<10000xi32>) -> tensor<100xi32>
  return %k : tensor<100xi32>
}

// Two numbers decide: that is sorted by merging.
// CHECK-LABEL: func.func @by_two
// CHECK:       "stablehlo.sort"(%x, %y)
// CHECK-NOT:   lamina.bits
func.func @by_two(%x: tensor<100xi32>, %y: tensor<100xi32>) -> tensor<100xi32> {
  %s:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %l = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %e = stablehlo.compare EQ, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %f = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %g = stablehlo.and %e, %f : tensor<i1>
    %r = stablehlo.or %l, %g : tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<100xi32>, tensor<100xi32>) -> (tensor<100xi32>, tensor<100xi32>)
  return %s#1 : tensor<100xi32>
}
