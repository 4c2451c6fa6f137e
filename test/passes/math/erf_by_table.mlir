// RUN: lamina-opt %s --machine x86-64-avx512 -p math-expand | filecheck %s

// Quarters are counted by the last bits of a sum; each coefficient is looked up by them, and the sign put on at the end.
// CHECK-LABEL: func.func @erf
func.func @erf(%x: vector<64xf32>) -> vector<64xf32> {
  // CHECK: %[[ABS:.*]] = math.absf %x
  // CHECK: %[[A:.*]] = arith.select %{{.*}}, %{{.*}}, %[[ABS]]
  // CHECK: %[[MAGIC:.*]] = arith.constant dense<0x4A400000>
  // CHECK: %[[MOVED:.*]] = arith.addf %[[A]], %[[MAGIC]]
  // CHECK: %[[NEAREST:.*]] = arith.subf %[[MOVED]], %[[MAGIC]]
  // CHECK: %[[R:.*]] = arith.subf %[[A]], %[[NEAREST]]
  // CHECK: %[[INDEX:.*]] = arith.bitcast %[[MOVED]] : vector<64xf32> to vector<64xi32>
  // CHECK: arith.constant dense<[0.000000e+00, 0.276326{{[0-9]*}}, {{.*}}]> : vector<16xf32>
  // CHECK-COUNT-6: "x86.permutexvar"(%{{.*}}, %[[INDEX]])
  // CHECK-COUNT-4: math.fma %{{.*}}, %[[R]], %{{.*}}
  // CHECK: %[[Y:.*]] = math.fma %{{.*}}, %[[R]], %{{.*}}
  // CHECK: math.copysign %[[Y]], %x
  // CHECK-NOT: arith.divf
  %y = math.erf %x : vector<64xf32>
  func.return %y : vector<64xf32>
}

// Lanes and scalars get the same numbers: a scalar is a vector of one. Half precisions are computed in f32.
// CHECK-LABEL: func.func @scalar
func.func @scalar(%x: f32, %h: vector<16xbf16>) -> (f32, vector<16xbf16>) {
  // CHECK: vector.broadcast %x : f32 to vector<1xf32>
  // CHECK: vector.extract
  %y = math.erf %x : f32
  // CHECK: arith.extf %h
  // CHECK: "x86.permutexvar"
  // CHECK: arith.truncf
  %z = math.erf %h : vector<16xbf16>
  func.return %y, %z : f32, vector<16xbf16>
}

// f64 has no table.
// CHECK-LABEL: func.func @double
func.func @double(%x: vector<8xf64>) -> vector<8xf64> {
  // CHECK-NOT: avx512
  %y = math.erf %x : vector<8xf64>
  func.return %y : vector<8xf64>
}
