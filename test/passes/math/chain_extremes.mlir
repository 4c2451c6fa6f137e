// RUN: lamina-opt %s --machine x86-64-avx512 -p math-chain-extremes | filecheck %s
// RUN: lamina-opt %s --machine x86-64-avx2 -p math-chain-extremes | filecheck %s --check-prefix MOVES

// Three numbers beside what there is so far: two questions, one answer.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %[[ABOVE:.*]] = arith.cmpf ogt, %a, %acc : vector<16xf32>
// CHECK-NEXT: %[[M:.*]] = arith.select %[[ABOVE]], %a, %acc : vector<16xi1>, vector<16xf32>
// CHECK-NEXT: %[[OVER:.*]] = arith.cmpf ogt, %b, %[[M]] : vector<16xf32>
// CHECK-NEXT: %[[N:.*]] = arith.select %[[OVER]], %b, %[[M]] : vector<16xi1>, vector<16xf32>
// CHECK: %[[MOST:.*]] = arith.select %{{.*}}, %c, %[[N]] : vector<16xi1>, vector<16xf32>
// CHECK-NEXT: %[[ONE:.*]] = arith.cmpf uno, %a, %b : vector<16xf32>
// CHECK-NEXT: %[[TWO:.*]] = arith.cmpf uno, %c, %c : vector<16xf32>
// CHECK-NEXT: %[[NONE:.*]] = arith.ori %[[ONE]], %[[TWO]] : vector<16xi1>
// CHECK-NEXT: %[[ALONE:.*]] = arith.constant 0x7fc00000 : f32
// CHECK-NEXT: %[[NAN:.*]] = vector.broadcast %[[ALONE]] : f32 to vector<16xf32>
// CHECK-NEXT: %[[R:.*]] = arith.select %[[NONE]], %[[NAN]], %[[MOST]] : vector<16xi1>, vector<16xf32>
// CHECK-NEXT: func.return %[[R]]
// MOVES-LABEL: func.func @chain
// MOVES-COUNT-3: arith.maximumf
func.func @chain(%acc: vector<16xf32>, %a: vector<16xf32>, %b: vector<16xf32>, %c: vector<16xf32>) -> vector<16xf32> {
  %m = arith.maximumf %a, %acc fastmath<nsz> : vector<16xf32>
  %n = arith.maximumf %b, %m fastmath<nsz> : vector<16xf32>
  %o = arith.maximumf %c, %n fastmath<nsz> : vector<16xf32>
  func.return %o : vector<16xf32>
}

// Nobody asks a constant, and the neutral one is left out.
// CHECK-LABEL: func.func @constants
// CHECK: arith.cmpf olt, %b, %a : vector<8xf64>
// CHECK: arith.cmpf olt, %c, %{{.*}} : vector<8xf64>
// CHECK: arith.cmpf olt, %six, %{{.*}} : vector<8xf64>
// CHECK-NEXT: arith.select
// CHECK-NEXT: arith.cmpf uno, %b, %c : vector<8xf64>
// CHECK-NOT: arith.cmpf
// CHECK: func.return
func.func @constants(%a: vector<8xf64>, %b: vector<8xf64>, %c: vector<8xf64>) -> vector<8xf64> {
  %inf = arith.constant 0x7FF0000000000000 : f64
  %start = vector.broadcast %inf : f64 to vector<8xf64>
  %six = arith.constant dense<6.0> : vector<8xf64>
  %m = arith.minimumf %a, %start fastmath<nsz> : vector<8xf64>
  %n = arith.minimumf %b, %m fastmath<nsz> : vector<8xf64>
  %o = arith.minimumf %n, %c fastmath<nsz> : vector<8xf64>
  %p = arith.minimumf %o, %six fastmath<nsz> : vector<8xf64>
  func.return %p : vector<8xf64>
}

// As they are: a single one, one whose zeros have signs, scalars, and what others take, too.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: arith.cmpf
// CHECK: func.return
func.func @left_alone(%a: vector<16xf32>, %b: vector<16xf32>, %c: vector<16xf32>, %s: f32) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, f32) {
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %m = arith.maximumf %a, %zero fastmath<nsz> : vector<16xf32>
  %n = arith.maximumf %b, %m fastmath<nsz> : vector<16xf32>
  %signed = arith.maximumf %a, %b : vector<16xf32>
  %o = arith.maximumf %c, %signed : vector<16xf32>
  %both = arith.maximumf %a, %c fastmath<nsz> : vector<16xf32>
  %p = arith.maximumf %b, %both fastmath<nsz> : vector<16xf32>
  %q = arith.minimumf %both, %p fastmath<nsz> : vector<16xf32>
  %t = arith.maximumf %s, %s fastmath<nsz> : f32
  %u = arith.maximumf %s, %t fastmath<nsz> : f32
  func.return %n, %o, %q, %u : vector<16xf32>, vector<16xf32>, vector<16xf32>, f32
}

// So is a chain with a constant that is NaN: nobody would ask it.
// CHECK-LABEL: func.func @nan
// CHECK-NOT: arith.cmpf
// CHECK: func.return
func.func @nan(%a: vector<16xf32>, %b: vector<16xf32>, %c: vector<16xf32>) -> vector<16xf32> {
  %one = arith.constant 0x7FC00000 : f32
  %nan = vector.broadcast %one : f32 to vector<16xf32>
  %m = arith.maximumf %a, %nan fastmath<nsz> : vector<16xf32>
  %n = arith.maximumf %b, %m fastmath<nsz> : vector<16xf32>
  %o = arith.maximumf %c, %n fastmath<nsz> : vector<16xf32>
  func.return %o : vector<16xf32>
}
