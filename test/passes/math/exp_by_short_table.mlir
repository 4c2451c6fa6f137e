// RUN: lamina-opt %s --machine x86-64-avx2 -p math-expand | filecheck %s

// A power from the table and the rest of the exponent added to its bits, where all results are normal numbers.
// CHECK-LABEL: func.func @exp
func.func @exp(%x: vector<16xf32>) -> vector<16xf32> {
  // CHECK: %[[A:.*]] = math.absf %x
  // CHECK: %[[OUT:.*]] = arith.cmpf ugt, %[[A]], %{{.*}} : vector<16xf32>
  // CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[OUT]]
  // CHECK: scf.if %[[ANY]]
  // CHECK-NOT: x86.permutexvar
  // CHECK: } else {
  // CHECK: %[[K8:.*]] = math.fma %x
  // CHECK: arith.subf %[[K8]]
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[K8]] : vector<16xf32> to vector<16xi32>
  // CHECK: %[[R:.*]] = math.fma %{{.*}} : vector<16xf32>
  // CHECK: %[[REST:.*]] = arith.shli %[[BITS]], %{{.*}} : vector<16xi32>
  // CHECK: arith.constant dense<[1.000000e+00, 0.982753873, {{.*}}, 0.979504049]> : vector<8xf32>
  // CHECK: %[[ONE:.*]] = "x86.permutexvar"(%{{.*}}, %[[BITS]]) : (vector<8xf32>, vector<16xi32>) -> vector<16xf32>
  // CHECK: %[[FOUND:.*]] = arith.bitcast %[[ONE]]
  // CHECK: %[[SUM:.*]] = arith.addi %[[FOUND]], %[[REST]]
  // CHECK: %[[POWER:.*]] = arith.bitcast %[[SUM]]
  // CHECK: %[[Y:.*]] = math.fma %{{.*}}, %[[POWER]], %[[POWER]]
  // CHECK-NEXT: scf.yield %[[Y]]
  %y = math.exp %x : vector<16xf32>
  func.return %y : vector<16xf32>
}

// Weights are 0 where they would be no normal number: no branch.
// CHECK-LABEL: func.func @weight
func.func @weight(%x: vector<16xf32>) -> vector<16xf32> {
  // CHECK-NOT: scf.if
  // CHECK: %[[LEAST:.*]] = arith.constant dense<-86.98{{[0-9]*}}>
  // CHECK: %[[OUT:.*]] = arith.cmpf olt, %x, %[[LEAST]]
  // CHECK-NEXT: arith.select %[[OUT]], %[[LEAST]], %x
  // CHECK-COUNT-6: math.fma
  // CHECK: %[[LOW:.*]] = arith.cmpf olt, %x, %[[LEAST]]
  // CHECK: arith.select %[[LOW]]
  %y = math.exp %x {weight} : vector<16xf32>
  func.return %y : vector<16xf32>
}

// What is not above 0 is raised by 2^64, so that rounding to what is no normal number comes last; at its bound it is 0.
// CHECK-LABEL: func.func @below_one
func.func @below_one(%x: vector<16xf32>) -> vector<16xf32> {
  // CHECK-NOT: scf.if
  // CHECK: arith.constant dense<-132.39{{[0-9]*}}>
  // CHECK: arith.constant dense<[1.84467441e+19,
  // CHECK: arith.constant dense<5.42101086e-20>
  // CHECK-NOT: arith.cmpf
  %y = math.exp %x {below_one} : vector<16xf32>
  func.return %y : vector<16xf32>
}

// Beside 1 the argument is limited on both sides.
// CHECK-LABEL: func.func @sigmoid
func.func @sigmoid(%x: vector<16xf32>) -> vector<16xf32> {
  // CHECK-NOT: scf.if
  // CHECK: arith.cmpf olt, %x
  // CHECK: arith.cmpf ogt
  // CHECK: x86.permutexvar
  // CHECK: arith.mulf %{{.*}} fastmath<contract>
  // CHECK-NEXT: arith.addf
  %one = arith.constant dense<1.0> : vector<16xf32>
  %e = math.exp %x : vector<16xf32>
  %y = arith.addf %e, %one : vector<16xf32>
  func.return %y : vector<16xf32>
}

// A scalar is a vector of one; f64 has no table.
// CHECK-LABEL: func.func @scalar
func.func @scalar(%x: f32, %d: vector<4xf64>) -> (f32, vector<4xf64>) {
  // CHECK: vector.broadcast %x : f32 to vector<1xf32>
  // CHECK: "x86.permutexvar"(%{{.*}}) : (vector<8xf32>, vector<1xi32>) -> vector<1xf32>
  // CHECK: vector.extract
  // CHECK-NOT: x86.permutexvar
  %y = math.exp %x {weight} : f32
  %z = math.exp %d {weight} : vector<4xf64>
  func.return %y, %z : f32, vector<4xf64>
}
