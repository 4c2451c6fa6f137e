// RUN: lamina-opt %s --machine x86-64-avx512 -p math-expand | filecheck %s

// What can be infinite has a bound above; below, results are 0 by a mask.
// CHECK-LABEL: func.func @exp
func.func @exp(%x: vector<64xf32>) -> vector<64xf32> {
  // CHECK: %[[MOST:.*]] = arith.constant dense<9.000000e+01>
  // CHECK: %[[K16:.*]] = math.fma
  // CHECK: %[[K:.*]] = arith.subf %[[K16]]
  // CHECK-COUNT-2: math.fma
  // CHECK: %[[BITS:.*]] = arith.bitcast %[[K16]] : vector<64xf32> to vector<64xi32>
  // CHECK-COUNT-2: math.fma
  // CHECK: arith.constant dense<[1.000000e+00, 1.04427373, {{.*}}, 1.91520655]> : vector<16xf32>
  // CHECK: %[[POWER:.*]] = "x86.permutexvar"(%{{.*}}, %[[BITS]])
  // CHECK: %[[E:.*]] = math.fma %{{.*}}, %[[POWER]], %[[POWER]]
  // CHECK: %[[Y:.*]] = "x86.scalef"(%[[E]], %[[K]]) : (vector<64xf32>, vector<64xf32>) -> vector<64xf32>
  // CHECK: %[[LEAST:.*]] = arith.constant dense<-103.97{{[0-9]*}}>
  // CHECK: %[[LOW:.*]] = arith.cmpf olt, %x, %[[LEAST]]
  // CHECK: arith.select %[[LOW]], %{{.*}}, %[[Y]]
  %y = math.exp %x : vector<64xf32>
  func.return %y : vector<64xf32>
}

// Of what is not above 0 nothing is infinite; weights are 0 where they would be no normal number.
// CHECK-LABEL: func.func @weight
func.func @weight(%x: vector<16xf32>) -> vector<16xf32> {
  // CHECK-NOT: arith.cmpf ogt
  // CHECK: x86.scalef
  // CHECK: arith.constant dense<-86.98{{[0-9]*}}>
  %y = math.exp %x {weight} : vector<16xf32>
  func.return %y : vector<16xf32>
}

// Lanes and scalars get the same numbers: a scalar is a vector of one.
// CHECK-LABEL: func.func @scalar
func.func @scalar(%x: f32) -> f32 {
  // CHECK: vector.broadcast %x : f32 to vector<1xf32>
  // CHECK: "x86.scalef"(%{{.*}}) : (vector<1xf32>, vector<1xf32>) -> vector<1xf32>
  // CHECK: vector.extract
  %y = math.exp %x : f32
  func.return %y : f32
}

// f64 has no table.
// CHECK-LABEL: func.func @double
func.func @double(%x: vector<8xf64>) -> vector<8xf64> {
  // CHECK-NOT: avx512
  %y = math.exp %x : vector<8xf64>
  func.return %y : vector<8xf64>
}
