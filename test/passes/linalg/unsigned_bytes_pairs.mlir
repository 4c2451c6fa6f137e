// RUN: lamina-opt %s -p linalg-unsigned-bytes | filecheck %s
// The default machine has AVX2, which adds up pairs of products of bytes in 16 bits.

// CHECK-LABEL: func.func @fit
func.func @fit(%a: tensor<3x3xi8>, %c: tensor<3x2xi32>) -> tensor<3x2xi32> {
  // CHECK: arith.xori
  // CHECK: linalg.generic {{.*}}tensor<3x3xi8>, tensor<3x2xi8>{{.*}} attrs = {lamina.pairs_fit} {
  // CHECK: arith.extui
  // CHECK: arith.constant dense<[-16384, -32768]> : tensor<2xi32>
  // CHECK: arith.subi
  %w = arith.constant dense<[[-127, -100], [127, -28], [-128, -128]]> : tensor<3x2xi8>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : tensor<3x3xi8>, tensor<3x2xi8>) outs(%c : tensor<3x2xi32>) {
  ^bb0(%l: i8, %r: i8, %o: i32):
    %u = arith.extsi %l : i8 to i32
    %v = arith.extsi %r : i8 to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  } -> tensor<3x2xi32>
  func.return %y : tensor<3x2xi32>
}

// 255 * (100 + 29) is beyond 16 bits.
// CHECK-LABEL: func.func @beyond
func.func @beyond(%a: tensor<3x2xi8>, %c: tensor<3x2xi32>) -> tensor<3x2xi32> {
  // CHECK: arith.constant dense<{{\[\[}}1, 100], [2, 29]]> : tensor<2x2xi16>
  // CHECK: arith.extsi {{.*}} : i8 to i16
  // CHECK-NOT: lamina.pairs_fit
  // CHECK: tensor<3x2xi16>, tensor<2x2xi16>
  // CHECK: arith.extsi {{.*}} : i16 to i32
  %w = arith.constant dense<[[1, 100], [2, 29]]> : tensor<2x2xi8>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : tensor<3x2xi8>, tensor<2x2xi8>) outs(%c : tensor<3x2xi32>) {
  ^bb0(%l: i8, %r: i8, %o: i32):
    %u = arith.extsi %l : i8 to i32
    %v = arith.extsi %r : i8 to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  } -> tensor<3x2xi32>
  func.return %y : tensor<3x2xi32>
}

// Pairs lie along m here, not along k.
// CHECK-LABEL: func.func @across
func.func @across(%a: tensor<2x3xi8>, %c: tensor<3x2xi32>) -> tensor<3x2xi32> {
  // CHECK-NOT: lamina.pairs_fit
  // CHECK: tensor<2x3xi16>, tensor<2x2xi16>
  %w = arith.constant dense<[[1, 2], [2, 3]]> : tensor<2x2xi8>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : tensor<2x3xi8>, tensor<2x2xi8>) outs(%c : tensor<3x2xi32>) {
  ^bb0(%l: i8, %r: i8, %o: i32):
    %u = arith.extsi %l : i8 to i32
    %v = arith.extsi %r : i8 to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  } -> tensor<3x2xi32>
  func.return %y : tensor<3x2xi32>
}

// What an argument is by all calls is looked at: these fit, those of @large do not.

// CHECK-LABEL: func.func private @small
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %w : tensor<3x2xi8>, tensor<2x2xi8>)
// CHECK-SAME: lamina.pairs_fit
// CHECK-LABEL: func.func private @large
// CHECK: linalg.generic {{.*}} ins(%w : tensor<2x2xi8>) outs(%{{.*}} : tensor<2x2xi16>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<3x2xi16>, tensor<2x2xi16>)
func.func public @calls(%a: tensor<3x2xi8>, %c: tensor<3x2xi32>) -> tensor<3x2xi32> {
  %w0 = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %w1 = arith.constant dense<[[127, 127], [127, 127]]> : tensor<2x2xi8>
  %0 = func.call @small(%a, %c, %w0) : (tensor<3x2xi8>, tensor<3x2xi32>, tensor<2x2xi8>) -> tensor<3x2xi32>
  %1 = func.call @large(%a, %0, %w0) : (tensor<3x2xi8>, tensor<3x2xi32>, tensor<2x2xi8>) -> tensor<3x2xi32>
  %2 = func.call @large(%a, %1, %w1) : (tensor<3x2xi8>, tensor<3x2xi32>, tensor<2x2xi8>) -> tensor<3x2xi32>
  func.return %2 : tensor<3x2xi32>
}
func.func private @small(%a: tensor<3x2xi8>, %c: tensor<3x2xi32>, %w: tensor<2x2xi8>) -> tensor<3x2xi32> attributes {lamina.constant_args = 1 : i64} {
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<3x2xi8>, tensor<2x2xi8>) outs(%c : tensor<3x2xi32>) {
  ^bb0(%l: i8, %r: i8, %o: i32):
    %u = arith.extsi %l : i8 to i32
    %v = arith.extsi %r : i8 to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  } -> tensor<3x2xi32>
  func.return %y : tensor<3x2xi32>
}
func.func private @large(%a: tensor<3x2xi8>, %c: tensor<3x2xi32>, %w: tensor<2x2xi8>) -> tensor<3x2xi32> attributes {lamina.constant_args = 1 : i64} {
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<3x2xi8>, tensor<2x2xi8>) outs(%c : tensor<3x2xi32>) {
  ^bb0(%l: i8, %r: i8, %o: i32):
    %u = arith.extsi %l : i8 to i32
    %v = arith.extsi %r : i8 to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  } -> tensor<3x2xi32>
  func.return %y : tensor<3x2xi32>
}
