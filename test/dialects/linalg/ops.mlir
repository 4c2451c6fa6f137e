// RUN: lamina-opt %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @several_results
func.func @several_results(%x: tensor<4x8xf32>, %a: tensor<4xf32>, %b: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  // CHECK: outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xi32>) attrs = {tag = 1 : i32} {
  // CHECK: -> (tensor<4xf32>, tensor<4xi32>)
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%a, %b : tensor<4xf32>, tensor<4xi32>) attrs = {tag = 1 : i32} {
  ^bb0(%v: f32, %max: f32, %where: i32):
    %j = linalg.index 1 : index
    %ji = arith.index_cast %j : index to i32
    linalg.yield %v, %ji : f32, i32
  } -> (tensor<4xf32>, tensor<4xi32>)
  func.return %r#0, %r#1 : tensor<4xf32>, tensor<4xi32>
}

// CHECK-LABEL: func.func @fill
func.func @fill(%z: f32, %t: tensor<4xf32>, %m: memref<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: linalg.fill ins(%z : f32) outs(%m : memref<4xf32>)
  linalg.fill ins(%z : f32) outs(%m : memref<4xf32>)
  // CHECK-NEXT: linalg.fill ins(%z : f32) outs(%t : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.fill ins(%z : f32) outs(%t : tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @pack
func.func @pack(%w: tensor<40x4x32xf32>, %dest: tensor<4x3x32x16xf32>, %z: f32) -> tensor<4x3x32x16xf32> {
  // CHECK-NEXT: linalg.pack %w padding_value(%z : f32) outer_dims_perm = [1, 0, 2] inner_dims_pos = [0] inner_tiles = [16] into %dest : tensor<40x4x32xf32> -> tensor<4x3x32x16xf32>
  %p = linalg.pack %w padding_value(%z : f32) outer_dims_perm = [1, 0, 2] inner_dims_pos = [0] inner_tiles = [16] into %dest : tensor<40x4x32xf32> -> tensor<4x3x32x16xf32>
  func.return %p : tensor<4x3x32x16xf32>
}
