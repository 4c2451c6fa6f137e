; Conversion of f64 to f16 where no instruction does it, under the name that LLVM calls: rounded once.

define weak hidden half @__truncdfhf2(double %x) {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %is_exact = fcmp ueq double %back, %x
  %size = call double @llvm.fabs.f64(double %x)
  %back_size = call double @llvm.fabs.f64(double %back)
  %is_up = fcmp ogt double %back_size, %size
  %step = zext i1 %is_up to i32
  %bits = bitcast float %near to i32
  ; towards zero, with the last bit set: it tells the second rounding that there was more
  %down = sub i32 %bits, %step
  %odd = or i32 %down, 1
  %chosen = select i1 %is_exact, i32 %bits, i32 %odd
  %once = bitcast i32 %chosen to float
  %result = fptrunc float %once to half
  ret half %result
}

declare double @llvm.fabs.f64(double)
