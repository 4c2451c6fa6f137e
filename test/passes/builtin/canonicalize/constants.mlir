// RUN: lamina-opt %s -p canonicalize | filecheck %s

// One constant of each kind, at the front of the function, out of loops.
// CHECK-LABEL: func.func @unique
// CHECK-NEXT: %c = arith.constant 2 : i32
// CHECK-NEXT: %zero = arith.constant 0 : index
// CHECK-NOT: arith.constant 2
// CHECK: return
func.func @unique(%n: index, %m: memref<4xi32>, %cond: i1) {
  %c = arith.constant 2 : i32
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %d = arith.constant 2 : i32
    memref.store %d, %m[%i] : memref<4xi32>
    %again = arith.constant 0 : index
    memref.store %c, %m[%again] : memref<4xi32>
  }
  return
}

// The constants of a structured op's body are its own.
// CHECK-LABEL: func.func @body
func.func @body(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: linalg.generic
  // CHECK: arith.constant 2.0
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %two = arith.constant 2.0 : f32
    %z = arith.mulf %x, %two : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @unreachable
// CHECK-NOT: ^bb
// CHECK: return %a
func.func @unreachable(%a: i32) -> i32 {
  return %a : i32
^dead:
  cf.br ^dead
}

// A known number in every lane is a constant; the sign of zero stays.
// CHECK-LABEL: func.func @lanes
// CHECK-DAG: %half = arith.constant dense<5.000000e-01> : vector<8xf32>
// CHECK-DAG: %zero = arith.constant dense<-0.000000e+00> : vector<8xf32>
// CHECK-DAG: %step = arith.constant dense<3> : vector<4xindex>
// CHECK-NOT: vector.broadcast %c
// CHECK: vector.broadcast %x
// CHECK: return %half, %zero, %step
func.func @lanes(%x: f32) -> (vector<8xf32>, vector<8xf32>, vector<4xindex>, vector<8xf32>) {
  %c0 = arith.constant 0.5 : f32
  %c1 = arith.constant -0.0 : f32
  %c2 = arith.constant 3 : index
  %half = vector.broadcast %c0 : f32 to vector<8xf32>
  %zero = vector.broadcast %c1 : f32 to vector<8xf32>
  %step = vector.broadcast %c2 : index to vector<4xindex>
  %other = vector.broadcast %x : f32 to vector<8xf32>
  return %half, %zero, %step, %other : vector<8xf32>, vector<8xf32>, vector<4xindex>, vector<8xf32>
}
