// RUN: lamina-opt %s --machine x86-64-avx512 -p affine-vectorize | filecheck %s

// Two elements of each: vectors are interleaved, and stored to what the last two dimensions are as one.
// CHECK-LABEL: @twice
// CHECK:       %[[Y:.*]] = memref.collapse_shape %y
// CHECK:       affine.for %[[I:.*]] = 0 to 32 step 16 {
// CHECK-NEXT:    %[[A:.*]] = affine.vector_load %x[%[[I]]] : memref<40xf32>, vector<16xf32>
// CHECK-NEXT:    %[[B:.*]] = vector.shuffle %[[A]], %[[A]] [0, 16, 1, 17, 2, 18, {{.*}}, 15, 31] : vector<16xf32>, vector<16xf32>
// CHECK-NEXT:    affine.vector_store %[[B]], %[[Y]][%[[I]] * 2] : memref<80xf32>, vector<32xf32>
// CHECK:       affine.vector_load %x[%{{.*}}] : memref<40xf32>, vector<16xf32>
// CHECK:       affine.vector_store {{.*}} vector<32xf32>
func.func @twice(%x: memref<40xf32>, %y: memref<40x2xf32>) {
  affine.for %i = 0 to 40 {
    %a = affine.load %x[%i] : memref<40xf32>
    affine.for %j = 0 to 2 {
      affine.store %a, %y[%i, %j] : memref<40x2xf32>
    }
  }
  return
}

// Three elements, each computed in another way.
// CHECK-LABEL: @three
// CHECK:       affine.for %{{.*}} = 0 to 32 step 16 {
// CHECK-COUNT-3: arith.addf {{.*}} : vector<16xf32>
// CHECK:         vector.shuffle {{.*}} [0, 16, 32, 1, 17, 33, {{.*}}] : vector<32xf32>, vector<32xf32>
// CHECK:         affine.vector_store {{.*}} vector<48xf32>
func.func @three(%x: memref<32xf32>, %w: memref<3xf32>, %y: memref<32x3xf32>) {
  affine.for %i = 0 to 32 {
    %a = affine.load %x[%i] : memref<32xf32>
    affine.for %j = 0 to 3 {
      %b = affine.load %w[%j] : memref<3xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %y[%i, %j] : memref<32x3xf32>
    }
  }
  return
}

// Elements four apart: as many vectors, and shuffles.
// CHECK-LABEL: @apart
// CHECK:       affine.vector_load %x[%{{.*}} * 4] : memref<128xf32>, vector<16xf32>
// CHECK:       affine.vector_load %x[%{{.*}} * 4 + 16]
// CHECK:       vector.shuffle {{.*}} [0, 4, 8, 12, 16, 20, 24, 28, {{.*}}]
// CHECK:       affine.vector_load %x[%{{.*}} * 4 + 32]
// CHECK:       vector.shuffle
// CHECK:       affine.vector_load %x[%{{.*}} * 4 + 45]
// CHECK:       vector.shuffle {{.*}}, 19, 23, 27, 31]
// CHECK:       affine.vector_store {{.*}} : memref<32xf32>, vector<16xf32>
func.func @apart(%x: memref<128xf32>, %y: memref<32xf32>) {
  affine.for %i = 0 to 32 {
    %a = affine.load %x[%i * 4] : memref<128xf32>
    affine.store %a, %y[%i] : memref<32xf32>
  }
  return
}

// What is stored is read again: one after another.
// CHECK-LABEL: @read_again
// CHECK-NOT:   vector.shuffle
func.func @read_again(%y: memref<32x2xf32>) {
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 2 {
      %a = affine.load %y[%i, 0] : memref<32x2xf32>
      affine.store %a, %y[%i, %j] : memref<32x2xf32>
    }
  }
  return
}
