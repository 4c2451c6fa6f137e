// RUN: lamina-opt %s -p convert-top-k-to-linalg | filecheck %s

// A list of two for each column: what is inserted is a double, of the key above what falls with the place.
// CHECK-LABEL: func.func public @floats
// CHECK-NOT: composite
// CHECK: %[[NONE:.*]] = arith.constant 0xfff0000000000000 : f64
// CHECK: linalg.fill ins(%[[NONE]] : f64)
// CHECK: linalg.fill ins(%[[NONE]] : f64)
// CHECK: %[[A:.*]], %[[B:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : tensor<8x100x64xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[FIRST:.*]]: f64, %[[SECOND:.*]]: f64):
// Both zeros are 0, NaN is above all.
// CHECK: %[[ZERO:.*]] = arith.cmpf oeq, %[[X]]
// CHECK: arith.select %[[ZERO]]
// CHECK: %[[NUMBER:.*]] = arith.cmpf oeq, %[[X]], %[[X]]
// CHECK: arith.select %[[NUMBER]]
// CHECK: arith.shli
// CHECK: linalg.index 1
// CHECK: %[[NEW:.*]] = arith.bitcast %{{.*}} : i64 to f64
// CHECK-NEXT: %[[C:.*]] = arith.cmpf ogt, %[[NEW]], %[[FIRST]]
// CHECK-NEXT: %[[ONE:.*]] = arith.select %[[C]], %[[NEW]], %[[FIRST]]
// CHECK-NEXT: %[[REST:.*]] = arith.select %[[C]], %[[FIRST]], %[[NEW]]
// CHECK-NEXT: %[[D:.*]] = arith.cmpf ogt, %[[REST]], %[[SECOND]]
// CHECK-NEXT: %[[TWO:.*]] = arith.select %[[D]], %[[REST]], %[[SECOND]]
// CHECK: linalg.yield %[[ONE]], %[[TWO]]
// CHECK: %[[LISTS:.*]] = stablehlo.concatenate {{.*}} dim = 1
// CHECK: stablehlo.bitcast_convert %[[LISTS]]
// CHECK: %[[I:.*]] = stablehlo.subtract
// CHECK: %[[Y:.*]] = "stablehlo.gather"(%x, %[[I]])
// CHECK: return %[[Y]], %[[I]]
func.func public @floats(%x: tensor<8x100x64xf32>) -> (tensor<8x2x64xf32>, tensor<8x2x64xi64>) {
  %y, %i = stablehlo.composite "lamina.top_k" %x {composite_attributes = {k = 2 : i64, axis = 1 : i64, largest = 1 : i64}, decomposition = @meaning} : (tensor<8x100x64xf32>) -> (tensor<8x2x64xf32>, tensor<8x2x64xi64>)
  func.return %y, %i : tensor<8x2x64xf32>, tensor<8x2x64xi64>
}

// The lowest ones are those whose complement is the largest; what has no sign moves down by a half.
// CHECK-LABEL: func.func public @unsigned
// CHECK: stablehlo.bitcast_convert %x : (tensor<30x16xui32>) -> tensor<30x16xi32>
// CHECK: stablehlo.xor
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]}
// CHECK: %[[ALL:.*]] = arith.constant -1 : i32
// CHECK-NEXT: arith.xori %{{.*}}, %[[ALL]]
// CHECK: arith.extsi
func.func public @unsigned(%x: tensor<30x16xui32>) -> (tensor<2x16xui32>, tensor<2x16xi64>) {
  %y, %i = stablehlo.composite "lamina.top_k" %x {composite_attributes = {k = 2 : i64, axis = 0 : i64, largest = 0 : i64}, decomposition = @other} : (tensor<30x16xui32>) -> (tensor<2x16xui32>, tensor<2x16xi64>)
  func.return %y, %i : tensor<2x16xui32>, tensor<2x16xi64>
}

// CHECK-NOT: func.func private
func.func private @meaning(%x: tensor<8x100x64xf32>) -> (tensor<8x2x64xf32>, tensor<8x2x64xi64>) {
  %y = stablehlo.constant dense<0.0> : tensor<8x2x64xf32>
  %i = stablehlo.constant dense<0> : tensor<8x2x64xi64>
  func.return %y, %i : tensor<8x2x64xf32>, tensor<8x2x64xi64>
}

func.func private @other(%x: tensor<30x16xui32>) -> (tensor<2x16xui32>, tensor<2x16xi64>) {
  %y = stablehlo.constant dense<0> : tensor<2x16xui32>
  %i = stablehlo.constant dense<0> : tensor<2x16xi64>
  func.return %y, %i : tensor<2x16xui32>, tensor<2x16xi64>
}
