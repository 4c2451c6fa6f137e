// RUN: lamina-opt %s -p linalg-narrow-values | filecheck %s

// The first of 128 rows is asked for, scaled by the sum of all that it has: the others are neither summed nor scaled.
// CHECK-LABEL: func.func private @first(
// CHECK: %[[E:.*]] = tensor.empty() : tensor<1xf32>
// CHECK-NEXT: %[[F:.*]] = linalg.fill ins(%{{.*}}) outs(%[[E]] : tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %[[S:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<128x64xf32>) outs(%[[F]] : tensor<1xf32>)
// CHECK: %[[T:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %[[S]] : tensor<128x64xf32>, tensor<1xf32>) outs(%{{.*}} : tensor<1x64xf32>)
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (0, d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%[[T]] : tensor<1x64xf32>) outs(%y : tensor<64xf32>)
func.func private @first(%x: tensor<128x64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> attributes {lamina.kernel = "loops"} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<128xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<128xf32>) -> tensor<128xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<128x64xf32>) outs(%1 : tensor<128xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %a : f32
    linalg.yield %c : f32
  } -> tensor<128xf32>
  %3 = tensor.empty() : tensor<128x64xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %2 : tensor<128x64xf32>, tensor<128xf32>) outs(%3 : tensor<128x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.divf %a, %b : f32
    linalg.yield %d : f32
  } -> tensor<128x64xf32>
  %5 = linalg.generic {indexing_maps = [affine_map<(d0) -> (0, d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%4 : tensor<128x64xf32>) outs(%y : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = math.tanh %a : f32
    linalg.yield %c : f32
  } -> tensor<64xf32>
  func.return %5 : tensor<64xf32>
}

// Two rows are asked for, or a value says which one it is: all stay.
// CHECK-LABEL: func.func private @two(
// CHECK: tensor.empty() : tensor<8x64xf32>
// CHECK: linalg.index
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (0, d0)>, affine_map<(d0) -> (7, d0)>
func.func private @two(%x: tensor<8x64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> attributes {lamina.kernel = "loops"} {
  %0 = tensor.empty() : tensor<8x64xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x64xf32>) outs(%0 : tensor<8x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = math.exp %a : f32
    linalg.yield %c : f32
  } -> tensor<8x64xf32>
  %2 = tensor.empty() : tensor<8x64xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x64xf32>) outs(%2 : tensor<8x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    linalg.yield %f : f32
  } -> tensor<8x64xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0) -> (0, d0)>, affine_map<(d0) -> (7, d0)>, affine_map<(d0) -> (3, d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1, %1, %3 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) outs(%y : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %e = arith.addf %a, %b : f32
    %f = arith.addf %e, %c : f32
    linalg.yield %f : f32
  } -> tensor<64xf32>
  func.return %4 : tensor<64xf32>
}
