// RUN: lamina-opt %s -p concat-in-place | filecheck %s
// One kernel that writes at two places, one whose result something else reads too, and what stays a copy.

#ij = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func public @main(
// CHECK-NEXT: func.call @twice_in_0_0(%x, %y) : (memref<8x16xf32>, memref<8x48xf32>) -> ()
// CHECK-NEXT: func.call @twice_in_0_16(%x, %y) : (memref<8x16xf32>, memref<8x48xf32>) -> ()
// CHECK-NEXT: %[[C:.*]] = memref.alloc() : memref<8x16xf32>
// CHECK-NEXT: func.call @twice(%x, %[[C]]) :
// CHECK-NEXT: func.call @concat_without_0_1(%[[C]], %y) : (memref<8x16xf32>, memref<8x48xf32>) -> ()
// CHECK-NEXT: func.call @twice(%[[C]], %z) :
// CHECK-NEXT: func.return
func.func public @main(%x: memref<8x16xf32>, %y: memref<8x48xf32>, %z: memref<8x16xf32>) {
  %a = memref.alloc() : memref<8x16xf32>
  func.call @twice(%x, %a) : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  %b = memref.alloc() : memref<8x16xf32>
  func.call @twice(%x, %b) : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  %c = memref.alloc() : memref<8x16xf32>
  func.call @twice(%x, %c) : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  func.call @concat(%a, %b, %c, %y) : (memref<8x16xf32>, memref<8x16xf32>, memref<8x16xf32>, memref<8x48xf32>) -> ()
  func.call @twice(%c, %z) : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  func.return
}

// The result is allocated before the first that writes to it; a concatenation with nothing left to copy is gone.
// CHECK-LABEL: func.func private @inner(
// CHECK-NEXT: %[[Y:.*]] = memref.alloc() : memref<16x16xf32>
// CHECK-NEXT: func.call @twice_in_0_0_(%x, %[[Y]]) : (memref<8x16xf32>, memref<16x16xf32>) -> ()
// CHECK-NEXT: func.call @twice_in_8_0(%x, %[[Y]]) : (memref<8x16xf32>, memref<16x16xf32>) -> ()
// CHECK-NEXT: func.call @read(%[[Y]], %z)
func.func private @inner(%x: memref<8x16xf32>, %z: memref<16x16xf32>) {
  %a = memref.alloc() : memref<8x16xf32>
  func.call @twice(%x, %a) : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  %b = memref.alloc() : memref<8x16xf32>
  func.call @twice(%x, %b) : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  %y = memref.alloc() : memref<16x16xf32>
  func.call @rows(%a, %b, %y) : (memref<8x16xf32>, memref<8x16xf32>, memref<16x16xf32>) -> ()
  func.call @read(%y, %z) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  func.return
}

// Both results of one kernel.
// CHECK-LABEL: func.func private @pair(
// CHECK-NEXT: func.call @both_in_0_0_in_8_0(%x, %z, %z) : (memref<8x16xf32>, memref<16x16xf32>, memref<16x16xf32>) -> ()
// CHECK-NEXT: func.return
func.func private @pair(%x: memref<8x16xf32>, %z: memref<16x16xf32>) {
  %a = memref.alloc() : memref<8x16xf32>
  %b = memref.alloc() : memref<8x16xf32>
  func.call @both(%x, %a, %b) : (memref<8x16xf32>, memref<8x16xf32>, memref<8x16xf32>) -> ()
  func.call @rows(%a, %b, %z) : (memref<8x16xf32>, memref<8x16xf32>, memref<16x16xf32>) -> ()
  func.return
}

// CHECK: func.func private @both_in_0_0_in_8_0(
func.func private @both(%x: memref<8x16xf32>, %y: memref<8x16xf32>, %z: memref<8x16xf32>) attributes {lamina.kernel = "loops"} {
  linalg.generic {indexing_maps = [#ij, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x16xf32>) outs(%y, %z : memref<8x16xf32>, memref<8x16xf32>) {
  ^bb0(%l: f32, %o: f32, %p: f32):
    %s = arith.addf %l, %l : f32
    linalg.yield %s, %l : f32, f32
  }
  func.return
}

// CHECK: func.func private @twice(%x: memref<8x16xf32>, %y: memref<8x16xf32>)
// CHECK: func.func private @twice_in_0_16(%x: memref<8x16xf32>, %y: memref<8x48xf32>)
// CHECK-NEXT: %[[PART:.*]] = memref.subview %y[0, 16] [8, 16] [1, 1] : memref<8x48xf32> to memref<8x16xf32, strided<[48, 1], offset: 16>>
// CHECK-NEXT: linalg.generic {{.*}} outs(%[[PART]] :
func.func private @twice(%x: memref<8x16xf32>, %y: memref<8x16xf32>) attributes {lamina.kernel = "loops"} {
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x16xf32>) outs(%y : memref<8x16xf32>) {
  ^bb0(%l: f32, %o: f32):
    %s = arith.addf %l, %l : f32
    linalg.yield %s : f32
  }
  func.return
}

// CHECK-NOT: func.func private @concat(
// CHECK: func.func private @concat_without_0_1(%c: memref<8x16xf32>, %y: memref<8x48xf32>)
// CHECK-NEXT: memref.subview %y[0, 32]
// CHECK-NEXT: linalg.generic
// CHECK: func.return
func.func private @concat(%a: memref<8x16xf32>, %b: memref<8x16xf32>, %c: memref<8x16xf32>, %y: memref<8x48xf32>) attributes {lamina.kernel = "copy"} {
  %0 = memref.subview %y[0, 0] [8, 16] [1, 1] : memref<8x48xf32> to memref<8x16xf32, strided<[48, 1]>>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x16xf32>) outs(%0 : memref<8x16xf32, strided<[48, 1]>>) {
  ^bb0(%l: f32, %o: f32):
    linalg.yield %l : f32
  }
  %1 = memref.subview %y[0, 16] [8, 16] [1, 1] : memref<8x48xf32> to memref<8x16xf32, strided<[48, 1], offset: 16>>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%b : memref<8x16xf32>) outs(%1 : memref<8x16xf32, strided<[48, 1], offset: 16>>) {
  ^bb0(%l: f32, %o: f32):
    linalg.yield %l : f32
  }
  %2 = memref.subview %y[0, 32] [8, 16] [1, 1] : memref<8x48xf32> to memref<8x16xf32, strided<[48, 1], offset: 32>>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%c : memref<8x16xf32>) outs(%2 : memref<8x16xf32, strided<[48, 1], offset: 32>>) {
  ^bb0(%l: f32, %o: f32):
    linalg.yield %l : f32
  }
  func.return
}

// CHECK-NOT: func.func private @rows(
func.func private @rows(%a: memref<8x16xf32>, %b: memref<8x16xf32>, %y: memref<16x16xf32>) attributes {lamina.kernel = "copy"} {
  %0 = memref.subview %y[0, 0] [8, 16] [1, 1] : memref<16x16xf32> to memref<8x16xf32, strided<[16, 1]>>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x16xf32>) outs(%0 : memref<8x16xf32, strided<[16, 1]>>) {
  ^bb0(%l: f32, %o: f32):
    linalg.yield %l : f32
  }
  %1 = memref.subview %y[8, 0] [8, 16] [1, 1] : memref<16x16xf32> to memref<8x16xf32, strided<[16, 1], offset: 128>>
  linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%b : memref<8x16xf32>) outs(%1 : memref<8x16xf32, strided<[16, 1], offset: 128>>) {
  ^bb0(%l: f32, %o: f32):
    linalg.yield %l : f32
  }
  func.return
}

func.func private @read(%x: memref<16x16xf32>, %y: memref<16x16xf32>) attributes {lamina.kernel = "loops"}
