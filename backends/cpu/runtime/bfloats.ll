; The rounding of f32 to bf16 for processors without an instruction for it. Our code rounds by itself; LLVM calls this
; by its name where it has moved an operation of f32 past that.

define weak hidden bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %cut = lshr i32 %bits, 16
  %odd = and i32 %cut, 1
  %up = add i32 %odd, 32767
  %even = add i32 %bits, %up
  %quiet = or i32 %bits, 4194304
  %magnitude = and i32 %bits, 2147483647
  %is_nan = icmp ugt i32 %magnitude, 2139095040
  %chosen = select i1 %is_nan, i32 %quiet, i32 %even
  %upper = lshr i32 %chosen, 16
  %short = trunc i32 %upper to i16
  %result = bitcast i16 %short to bfloat
  ret bfloat %result
}
