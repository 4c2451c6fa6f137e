// Without tables in registers.
// RUN: lamina-opt %s --machine aarch64-neon -p math-expand | filecheck %s

// What masks make of scores is not multiplied until it is too small for a normal number: at the bound a factor is 0.
// CHECK-LABEL: func.func @masked
func.func @masked(%x: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>) {
  // CHECK-DAG: arith.constant dense<-87.336{{[0-9]*}}> : vector<8xf32>
  // CHECK-DAG: arith.constant dense<-132.39{{[0-9]*}}> : vector<8xf32>
  // CHECK-DAG: arith.constant dense<-176.05{{[0-9]*}}> : vector<8xf32>
  %a = math.exp %x {below_one} : vector<8xf32>
  %b = math.exp %x : vector<8xf32>
  %c = math.exp %x {weight} : vector<8xf32>
  func.return %a, %b, %c : vector<8xf32>, vector<8xf32>, vector<8xf32>
}

// Beside 1 there is one scaling, which the sum may take in.
// CHECK-LABEL: func.func @exp_beside_one
func.func @exp_beside_one(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  // CHECK: arith.shli
  // CHECK-NOT: arith.shli
  // CHECK: %[[POWER:.*]] = arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
  // CHECK-NEXT: arith.addf %[[POWER]], %one : f32
  %r = math.exp %x : f32
  %s = arith.addf %r, %one : f32
  func.return %s : f32
}
