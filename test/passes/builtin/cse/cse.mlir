// RUN: lamina-opt %s -p cse | filecheck %s

// CHECK-LABEL: func.func @commutative
func.func @commutative(%a: i32, %b: i32) -> i32 {
  // CHECK-NEXT: %0 = arith.addi %a, %b
  // CHECK-NEXT: %1 = arith.muli %0, %0
  %0 = arith.addi %a, %b : i32
  %1 = arith.addi %b, %a : i32
  %2 = arith.muli %0, %1 : i32
  // CHECK-NEXT: %2 = arith.subi %1, %a
  // CHECK-NEXT: arith.subi %a, %1
  %3 = arith.subi %2, %a : i32
  %4 = arith.subi %a, %2 : i32
  %5 = arith.addi %3, %4 : i32
  return %5 : i32
}

// A read repeats an earlier one only while nothing writes.
// CHECK-LABEL: func.func @reads
func.func @reads(%m: memref<4xf32>, %i: index) -> f32 {
  // CHECK-NEXT: %a = memref.load
  // CHECK-NEXT: %s = arith.addf %a, %a
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: %c = memref.load
  %a = memref.load %m[%i] : memref<4xf32>
  %b = memref.load %m[%i] : memref<4xf32>
  %s = arith.addf %a, %b : f32
  memref.store %s, %m[%i] : memref<4xf32>
  %c = memref.load %m[%i] : memref<4xf32>
  %t = arith.addf %s, %c : f32
  return %t : f32
}

// A value of one branch is not seen in the other, one of the entry is seen in both.
// CHECK-LABEL: func.func @blocks
func.func @blocks(%c: i1, %a: i32) -> i32 {
  // CHECK: arith.addi
  %0 = arith.addi %a, %a : i32
  cf.cond_br %c, ^one(%0 : i32), ^two
// CHECK: ^one(%p
^one(%p: i32):
  // CHECK-NEXT: arith.muli
  // CHECK-NEXT: return
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %1, %p : i32
  return %2 : i32
// CHECK: ^two:
^two:
  // CHECK-NEXT: arith.muli
  // CHECK-NEXT: cf.br
  %3 = arith.addi %a, %a : i32
  %4 = arith.muli %3, %3 : i32
  cf.br ^one(%4 : i32)
}

// Ops with regions are compared by what is in them.
// CHECK-LABEL: func.func @bodies
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return [[R:%[a-z0-9]+]], [[R]],
func.func @bodies(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %x : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %x : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %x : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Two destinations stay two.
// CHECK-LABEL: func.func @empties
// CHECK-COUNT-2: tensor.empty
func.func @empties() -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = tensor.empty() : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// The body of a structured op shares nothing with what is around; the body of a loop does.
// CHECK-LABEL: func.func @owners
func.func @owners(%a: tensor<4xf32>, %m: memref<4xf32>, %n: index) -> tensor<4xf32> {
  // CHECK-COUNT-2: arith.constant 2.0
  // CHECK-NOT: arith.constant 2.0
  %two = arith.constant 2.0 : f32
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%a : tensor<4xf32>) {
  ^bb0(%x: f32):
    %two_1 = arith.constant 2.0 : f32
    %z = arith.mulf %x, %two_1 : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %two_2 = arith.constant 2.0 : f32
    memref.store %two_2, %m[%i] : memref<4xf32>
    memref.store %two, %m[%zero] : memref<4xf32>
  }
  // CHECK: return
  return %0 : tensor<4xf32>
}
