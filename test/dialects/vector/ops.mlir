// RUN: lamina-opt %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @all
func.func @all(%m: memref<?xf32>, %i: index, %idx: vector<8xi32>, %mask: vector<8xi1>, %p: vector<8xf32>) {
  // CHECK: vector.gather %{{.*}}[%{{.*}}] [%{{.*}}], %{{.*}}, %{{.*}} : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  %0 = vector.gather %m[%i] [%idx], %mask, %p : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  // CHECK: vector.scatter %{{.*}}[%{{.*}}] [%{{.*}}], %{{.*}}, %{{.*}} : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32>
  vector.scatter %m[%i] [%idx], %mask, %0 : memref<?xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32>
  // CHECK: vector.step : vector<8xindex>
  %1 = vector.step : vector<8xindex>
  // CHECK: vector.constant_mask [3] : vector<8xi1>
  %2 = vector.constant_mask [3] : vector<8xi1>
  // CHECK: vector.reduction <add>, %{{.*}} : vector<8xf32> into f32
  %3 = vector.reduction <add>, %p : vector<8xf32> into f32
  // CHECK: vector.reduction <maximumf>, %{{.*}}, %{{.*}} fastmath<reassoc> : vector<8xf32> into f32
  %4 = vector.reduction <maximumf>, %p, %3 fastmath<reassoc> : vector<8xf32> into f32
  func.return
}
