// RUN: lamina-opt %s -p linalg-unsigned-bytes --machine x86-64-amx | filecheck %s
// RUN: lamina-opt %s -p linalg-unsigned-bytes --machine x86-64-avx512 | filecheck %s --check-prefix=SAME

// CHECK-LABEL: func.func @product
// SAME-LABEL: func.func @product
func.func @product(%a: tensor<3x2xi8>, %c: tensor<3x2xi32>) -> tensor<3x2xi32> {
  // CHECK: %[[U:.*]] = linalg.generic {{.*}} ins(%a : tensor<3x2xi8>)
  // CHECK: arith.constant -128 : i8
  // CHECK-NEXT: arith.xori
  // CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[U]], %w : tensor<3x2xi8>, tensor<2x2xi8>)
  // CHECK: arith.extui
  // CHECK-NEXT: arith.extsi
  // CHECK: %[[S:.*]] = arith.constant dense<[-16000, 16768]> : tensor<2xi32>
  // CHECK: %[[Y:.*]] = linalg.generic {{.*}}(d0, d1) -> (d1)>{{.*}} ins(%[[P]], %[[S]] : tensor<3x2xi32>, tensor<2xi32>)
  // CHECK: arith.subi
  // CHECK: func.return %[[Y]]
  // SAME-NOT: arith.extui
  %w = arith.constant dense<[[-128, 127], [3, 4]]> : tensor<2x2xi8>
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

// Bytes that were unsigned before are taken as they were.

// CHECK-LABEL: func.func @unsigned
// CHECK: linalg.generic {{.*}} ins(%a, %w : tensor<3x2xi8>, tensor<2x2xi8>)
// CHECK: arith.extui
func.func @unsigned(%a: tensor<3x2xi8>, %c: tensor<3x2xi32>) -> tensor<3x2xi32> {
  %flip = arith.constant -128 : i8
  %e = tensor.empty() : tensor<3x2xi8>
  %f = linalg.fill ins(%flip : i8) outs(%e : tensor<3x2xi8>) -> tensor<3x2xi8>
  %b = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>],
      iterator_types = ["parallel", "parallel"]} ins(%a, %f : tensor<3x2xi8>, tensor<3x2xi8>) outs(%e : tensor<3x2xi8>) {
  ^bb0(%l: i8, %r: i8, %o: i8):
    %x = arith.xori %l, %r : i8
    linalg.yield %x : i8
  } -> tensor<3x2xi8>
  %w = arith.constant dense<[[-128, 127], [3, 4]]> : tensor<2x2xi8>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%b, %w : tensor<3x2xi8>, tensor<2x2xi8>) outs(%c : tensor<3x2xi32>) {
  ^bb0(%l: i8, %r: i8, %o: i32):
    %u = arith.extsi %l : i8 to i32
    %v = arith.extsi %r : i8 to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  } -> tensor<3x2xi32>
  func.return %y : tensor<3x2xi32>
}

// The sums of what is a constant in every call are computed, for the callers to do it.

// CHECK-LABEL: func.func private @repeated
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %w : tensor<3x2xi8>, tensor<2x2xi8>)
// CHECK: arith.extui
// CHECK: %[[S:.*]] = linalg.generic {{.*}}(d0, d1) -> (d1)>{{.*}}["reduction", "parallel"]} ins(%w : tensor<2x2xi8>)
// CHECK: arith.extsi
// CHECK-NEXT: arith.constant 128 : i32
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi
// CHECK: linalg.generic {{.*}} ins(%[[P]], %[[S]] : tensor<3x2xi32>, tensor<2xi32>)
// CHECK: arith.subi
func.func private @repeated(%a: tensor<3x2xi8>, %c: tensor<3x2xi32>, %w: tensor<2x2xi8>) -> tensor<3x2xi32> attributes {lamina.constant_args = 1 : i64} {
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

// What is padded loses its sign before, so that who makes it writes it into its place; the filler does, too.

// CHECK-LABEL: func.func @padded
// CHECK: %[[U:.*]] = linalg.generic {{.*}} ins(%a : tensor<3x2xi8>)
// CHECK: arith.xori
// CHECK: %[[F:.*]] = arith.constant -123 : i8
// CHECK-NEXT: %[[B:.*]] = tensor.pad %[[U]] low[1, 0] high[0, 0]
// CHECK: tensor.yield %[[F]]
// CHECK: linalg.generic {{.*}} ins(%[[B]], %w : tensor<4x2xi8>, tensor<2x2xi8>)
// CHECK: arith.extui
func.func @padded(%a: tensor<3x2xi8>, %c: tensor<4x2xi32>) -> tensor<4x2xi32> {
  %five = arith.constant 5 : i8
  %b = tensor.pad %a low[1, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %five : i8
  } : tensor<3x2xi8> to tensor<4x2xi8>
  %w = arith.constant dense<[[-128, 127], [3, 4]]> : tensor<2x2xi8>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%b, %w : tensor<4x2xi8>, tensor<2x2xi8>) outs(%c : tensor<4x2xi32>) {
  ^bb0(%l: i8, %r: i8, %o: i32):
    %u = arith.extsi %l : i8 to i32
    %v = arith.extsi %r : i8 to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  } -> tensor<4x2xi32>
  func.return %y : tensor<4x2xi32>
}
