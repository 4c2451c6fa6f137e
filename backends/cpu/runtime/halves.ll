; Conversions of f16 for processors without an instruction for them, under the names that LLVM calls.

define weak hidden float @__extendhfsf2(half %x) {
  %short = bitcast half %x to i16
  %bits = zext i16 %short to i32
  %sign = and i32 %bits, 32768
  %high_sign = shl i32 %sign, 16
  %magnitude = and i32 %bits, 32767
  %moved = shl i32 %magnitude, 13
  %small = bitcast i32 %moved to float
  %number = fmul float %small, 0x46F0000000000000 ; 2^112, between the biases; subnormals become normal
  %number_bits = bitcast float %number to i32
  %special = or i32 %moved, 2139095040
  %is_special = icmp uge i32 %magnitude, 31744
  %chosen = select i1 %is_special, i32 %special, i32 %number_bits
  %signed = or i32 %chosen, %high_sign
  %result = bitcast i32 %signed to float
  ret float %result
}

define weak hidden half @__truncsfhf2(float %x) {
  %bits = bitcast float %x to i32
  %magnitude = and i32 %bits, 2147483647
  %sign_bit = lshr i32 %bits, 16
  %sign = and i32 %sign_bit, 32768
  ; normal: rebias, round to nearest even; a carry out of the mantissa is right
  %cut = lshr i32 %magnitude, 13
  %odd = and i32 %cut, 1
  %rebiased = sub i32 %magnitude, 939524096
  %up = add i32 %rebiased, 4095
  %even = add i32 %up, %odd
  %normal = lshr i32 %even, 13
  ; subnormal: adding 0.5 leaves the result in the low bits, rounded
  %positive = bitcast i32 %magnitude to float
  %sum = fadd float %positive, 5.0e-01
  %sum_bits = bitcast float %sum to i32
  %subnormal = sub i32 %sum_bits, 1056964608
  %is_subnormal = icmp ult i32 %magnitude, 947912704
  %finite = select i1 %is_subnormal, i32 %subnormal, i32 %normal
  %is_large = icmp uge i32 %magnitude, 1199570944
  %number = select i1 %is_large, i32 31744, i32 %finite
  %payload = and i32 %cut, 511
  %quiet = or i32 %payload, 32256
  %is_nan = icmp ugt i32 %magnitude, 2139095040
  %chosen = select i1 %is_nan, i32 %quiet, i32 %number
  %signed = or i32 %chosen, %sign
  %short = trunc i32 %signed to i16
  %result = bitcast i16 %short to half
  ret half %result
}
