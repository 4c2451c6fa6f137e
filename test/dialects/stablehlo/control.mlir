// Control flow and structure print as they are written.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @branches(
func.func @branches(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<2xf32>) {
  // CHECK-NEXT: %if = "stablehlo.if"(%p) ({
  %if = "stablehlo.if"(%p) ({
    // CHECK-NEXT: stablehlo.return %x : tensor<2xf32>
    stablehlo.return %x : tensor<2xf32>
  // CHECK-NEXT: }, {
  }, {
    // CHECK-NEXT: %n = stablehlo.negate %x : tensor<2xf32>
    %n = stablehlo.negate %x : tensor<2xf32>
    // CHECK-NEXT: stablehlo.return %n : tensor<2xf32>
    stablehlo.return %n : tensor<2xf32>
  // CHECK-NEXT: }) : (tensor<i1>) -> tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  // CHECK-NEXT: %case = "stablehlo.case"(%i) ({
  %case = "stablehlo.case"(%i) ({
    // CHECK-NEXT: stablehlo.return %x : tensor<2xf32>
    stablehlo.return %x : tensor<2xf32>
  // CHECK-NEXT: }) : (tensor<i32>) -> tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  func.return
}

// CHECK-LABEL: func.func @loop(
func.func @loop(%n: tensor<i64>, %x: tensor<2xf32>) {
  // CHECK-NEXT: %count, %y = stablehlo.while(%k = %n, %acc = %x) : tensor<i64>, tensor<2xf32>
  %count, %y = stablehlo.while(%k = %n, %acc = %x) : tensor<i64>, tensor<2xf32>
   // CHECK-NEXT: cond {
   cond {
    // CHECK-NEXT: %l = stablehlo.compare LT, %k, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %l = stablehlo.compare LT, %k, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    // CHECK-NEXT: stablehlo.return %l : tensor<i1>
    stablehlo.return %l : tensor<i1>
  // CHECK-NEXT: } do {
  } do {
    // CHECK-NEXT: %twice = stablehlo.add %acc, %acc : tensor<2xf32>
    %twice = stablehlo.add %acc, %acc : tensor<2xf32>
    // CHECK-NEXT: stablehlo.return %k, %twice : tensor<i64>, tensor<2xf32>
    stablehlo.return %k, %twice : tensor<i64>, tensor<2xf32>
  // CHECK-NEXT: }
  }
  // CHECK-NEXT: %tagged = stablehlo.while(%j = %n) : tensor<i64> attributes {tag = 1 : i32}
  %tagged = stablehlo.while(%j = %n) : tensor<i64> attributes {tag = 1 : i32}
   // CHECK-NEXT: cond {
   cond {
    // CHECK-NEXT: %m = stablehlo.compare LT, %j, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %m = stablehlo.compare LT, %j, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    // CHECK-NEXT: stablehlo.return %m : tensor<i1>
    stablehlo.return %m : tensor<i1>
  // CHECK-NEXT: } do {
  } do {
    // CHECK-NEXT: stablehlo.return %j : tensor<i64>
    stablehlo.return %j : tensor<i64>
  // CHECK-NEXT: }
  }
  func.return
}

// CHECK-LABEL: func.func private @double(
func.func private @double(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: %y = stablehlo.add %x, %x : tensor<2xf32>
  %y = stablehlo.add %x, %x : tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// CHECK-LABEL: func.func @calls(
func.func @calls(%x: tensor<2xf32>, %p: tensor<i1>, %token: !stablehlo.token) {
  // CHECK-NEXT: %composite = stablehlo.composite "nn.double" %x {composite_attributes = {axis = 1 : i64}, decomposition = @double, version = 1 : i32} : (tensor<2xf32>) -> tensor<2xf32>
  %composite = stablehlo.composite "nn.double" %x {composite_attributes = {axis = 1 : i64}, decomposition = @double, version = 1 : i32} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %call = stablehlo.custom_call @foo(%x, %p) {backend_config = "bar", has_side_effect = true} : (tensor<2xf32>, tensor<i1>) -> tensor<2xf32>
  %call = stablehlo.custom_call @foo(%x, %p) {backend_config = "bar", has_side_effect = true} : (tensor<2xf32>, tensor<i1>) -> tensor<2xf32>
  // CHECK-NEXT: %quoted = stablehlo.custom_call @"foo-not-id"() : () -> tensor<2xf32>
  %quoted = stablehlo.custom_call @"foo-not-id"() : () -> tensor<2xf32>
  // CHECK-NEXT: %tuple = stablehlo.tuple %x, %p : tuple<tensor<2xf32>, tensor<i1>>
  %tuple = stablehlo.tuple %x, %p : tuple<tensor<2xf32>, tensor<i1>>
  // CHECK-NEXT: %element = stablehlo.get_tuple_element %tuple[0] : (tuple<tensor<2xf32>, tensor<i1>>) -> tensor<2xf32>
  %element = stablehlo.get_tuple_element %tuple[0] : (tuple<tensor<2xf32>, tensor<i1>>) -> tensor<2xf32>
  // CHECK-NEXT: %kept, %too = stablehlo.optimization_barrier %x, %p : tensor<2xf32>, tensor<i1>
  %kept, %too = stablehlo.optimization_barrier %x, %p : tensor<2xf32>, tensor<i1>
  // CHECK-NEXT: stablehlo.optimization_barrier()
  stablehlo.optimization_barrier()
  // CHECK-NEXT: %after = stablehlo.after_all %token, %token : !stablehlo.token
  %after = stablehlo.after_all %token, %token : !stablehlo.token
  func.return
}
