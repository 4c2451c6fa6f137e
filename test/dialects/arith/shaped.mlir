// Casts, comparisons and selections take vectors and tensors, as in MLIR.
// RUN: lamina-opt %s | lamina-opt | filecheck %s
func.func @f(%x: vector<8xf32>, %i: vector<8xi8>, %t: tensor<4xi32>, %c: i1) {
  // CHECK: %m = arith.cmpf olt, %x, %x : vector<8xf32>
  %m = arith.cmpf olt, %x, %x : vector<8xf32>
  // CHECK: arith.select %m, %x, %x : vector<8xi1>, vector<8xf32>
  %s = arith.select %m, %x, %x : vector<8xi1>, vector<8xf32>
  // CHECK: arith.select %c, %x, %x : vector<8xf32>
  %s2 = arith.select %c, %x, %x : vector<8xf32>
  // CHECK: arith.extsi %i : vector<8xi8> to vector<8xi32>
  %w = arith.extsi %i : vector<8xi8> to vector<8xi32>
  // CHECK: arith.sitofp %w : vector<8xi32> to vector<8xf32>
  %f = arith.sitofp %w : vector<8xi32> to vector<8xf32>
  // CHECK: arith.fptosi %f : vector<8xf32> to vector<8xi32>
  %g = arith.fptosi %f : vector<8xf32> to vector<8xi32>
  // CHECK: arith.extui %m : vector<8xi1> to vector<8xi32>
  %u = arith.extui %m : vector<8xi1> to vector<8xi32>
  // CHECK: arith.cmpi eq, %t, %t : tensor<4xi32>
  %e = arith.cmpi eq, %t, %t : tensor<4xi32>
  // CHECK: arith.index_cast %w : vector<8xi32> to vector<8xindex>
  %q = arith.index_cast %w : vector<8xi32> to vector<8xindex>
  // CHECK: arith.index_castui %w : vector<8xi32> to vector<8xindex>
  %q2 = arith.index_castui %w : vector<8xi32> to vector<8xindex>
  // CHECK: arith.trunci %w : vector<8xi32> to vector<8xi8>
  %n = arith.trunci %w : vector<8xi32> to vector<8xi8>
  // CHECK: arith.remf %x, %x : vector<8xf32>
  %r = arith.remf %x, %x : vector<8xf32>
  func.return
}
