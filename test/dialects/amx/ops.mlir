// RUN: lamina-opt %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @tiles
func.func @tiles(%m: memref<64x64xbf16>, %f: memref<4096xf32>, %i: index, %s: index, %a8: !amx.tile<16x64xi8>) {
  // CHECK: %[[A:.*]] = amx.tile_load %m[%i, %i] : memref<64x64xbf16> into !amx.tile<16x32xbf16>
  %a = amx.tile_load %m[%i, %i] : memref<64x64xbf16> into !amx.tile<16x32xbf16>
  // CHECK: %[[Z:.*]] = amx.tile_zero : !amx.tile<16x16xf32>
  %z = amx.tile_zero : !amx.tile<16x16xf32>
  // CHECK: %[[D:.*]] = amx.tile_mulf %[[A]], %[[A]], %[[Z]] : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  %d = amx.tile_mulf %a, %a, %z : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
  // CHECK: amx.tile_store %f[%i], %[[D]], %s : memref<4096xf32>, !amx.tile<16x16xf32>
  amx.tile_store %f[%i], %d, %s : memref<4096xf32>, !amx.tile<16x16xf32>
  %y = amx.tile_zero : !amx.tile<16x16xi32>
  // CHECK: amx.tile_muli %a8 zext, %a8, %{{.*}} : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
  %e = amx.tile_muli %a8 zext, %a8, %y : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
  func.return
}
