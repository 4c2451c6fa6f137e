// RUN: lamina-opt %s -p convert-stablehlo-to-linalg | filecheck %s

// A loop whose count is known is an scf.for; what nobody asks for any more, the condition, is gone. A slice at the
// counter is read where it lies, an update is an insertion at computed offsets.
// CHECK-LABEL: func.func @counted
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[FIVE:.*]] = arith.constant 5 : index
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: scf.for %{{.*}} = %[[ZERO]] to %[[FIVE]] step %[[ONE]] iter_args(%[[I:.*]] = %{{.*}}, %[[Y:.*]] = %x) -> (tensor<i32>, tensor<5x8xf32>) {
// CHECK-NOT: arith.cmpi
// CHECK: tensor.extract %[[Y]]
// CHECK: %[[AT:.*]] = arith.minsi
// CHECK: tensor.insert_slice %{{.*}} into %[[Y]][%[[AT]], 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<5x8xf32>
// CHECK: arith.addi
// CHECK: scf.yield
func.func @counted(%x: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %o:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<5x8xf32>
   cond {
    %n = stablehlo.constant dense<10> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %s = stablehlo.dynamic_slice %y, %i, %zero, sizes = [1, 8] : (tensor<5x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %t = stablehlo.negate %s : tensor<1x8xf32>
    %u = stablehlo.dynamic_update_slice %y, %t, %i, %zero : (tensor<5x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<5x8xf32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %next = stablehlo.add %i, %two : tensor<i32>
    stablehlo.return %next, %u : tensor<i32>, tensor<5x8xf32>
  }
  func.return %o#1 : tensor<5x8xf32>
}

// Any other is an scf.while.
// CHECK-LABEL: func.func @until
// CHECK: scf.while
// CHECK: %[[P:.*]] = tensor.extract
// CHECK: scf.condition(%[[P]])
func.func @until(%x: tensor<f32>) -> tensor<f32> {
  %o = stablehlo.while(%y = %x) : tensor<f32>
   cond {
    %n = stablehlo.constant dense<10.0> : tensor<f32>
    %p = stablehlo.compare LT, %y, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %next = stablehlo.add %y, %y : tensor<f32>
    stablehlo.return %next : tensor<f32>
  }
  func.return %o : tensor<f32>
}

// An update of everything is the update, one of nothing changes nothing.
// CHECK-LABEL: func.func @all_or_nothing
// CHECK-NEXT: return %u, %x
func.func @all_or_nothing(%x: tensor<4xf32>, %u: tensor<4xf32>, %v: tensor<0xf32>, %i: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  %1 = stablehlo.dynamic_update_slice %x, %v, %i : (tensor<4xf32>, tensor<0xf32>, tensor<i32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
