; A call of a model from Python with no Python on the way.
;
;   ptr lamina_call(ptr self, ptr arguments, i64 count)     what CPython calls METH_FASTCALL
;        a list of fresh arrays; None for a call that is to be made, or refused, another way; null: an exception is set
;
; `self` is a NumPy array over a plan, which direct_call.py lays out. Objects of Python and NumPy lie in memory as their
; headers for C say; functions of theirs are called through the plan, so that nothing here has to be linked with them.

%Object = type { i64, ptr }                                            ; references, type
%Array = type { %Object, ptr, i32, ptr, ptr, ptr, ptr, i32 }           ; data, rank, extents, strides, base, dtype, flags
%Input = type { ptr, i64, ptr }                                        ; dtype, rank, extents
%Output = type { %Input, ptr, i64 }                                    ; arrays that own memory, its alignment
%Plan = type { i64, i64, ptr, i64, ptr, i64, ptr, i64, [6 x ptr], [10 x ptr] }
; 0 the process it was made ready in, 1 whether a call is under way, 2 where the number of this process stands,
; 3 number of inputs, 4 inputs, 5 number of outputs, 6 outputs, 7 which input is the largest
; 8 entry, and what it takes: inputs, outputs, arena, constants, pool
; 9 ndarray, None, Py_IncRef, Py_DecRef, PyList_New, PyList_SetItem, PyEval_SaveThread, PyEval_RestoreThread,
;   PyArray_NewFromDescr, PyArray_SetBaseObject

define ptr @lamina_call(ptr %self, ptr %arguments, i64 %count) {
entry:
  %plan.at = getelementptr %Array, ptr %self, i32 0, i32 1
  %plan = load ptr, ptr %plan.at
  %functions = getelementptr %Plan, ptr %plan, i32 0, i32 9
  %ndarray = load ptr, ptr %functions
  %none.at = getelementptr ptr, ptr %functions, i32 1
  %none = load ptr, ptr %none.at
  %incref.at = getelementptr ptr, ptr %functions, i32 2
  %incref = load ptr, ptr %incref.at
  %decref.at = getelementptr ptr, ptr %functions, i32 3
  %decref = load ptr, ptr %decref.at
  %entry.at = getelementptr %Plan, ptr %plan, i32 0, i32 8
  %entry.inputs.at = getelementptr ptr, ptr %entry.at, i32 1
  %entry.inputs = load ptr, ptr %entry.inputs.at
  %entry.outputs.at = getelementptr ptr, ptr %entry.at, i32 2
  %entry.outputs = load ptr, ptr %entry.outputs.at
  %owner = load i64, ptr %plan
  %process.at = getelementptr %Plan, ptr %plan, i32 0, i32 2
  %process.word = load ptr, ptr %process.at
  %process = load i64, ptr %process.word
  %ours = icmp eq i64 %owner, %process
  br i1 %ours, label %is_ready, label %decline
is_ready:
  %busy.at = getelementptr %Plan, ptr %plan, i32 0, i32 1
  %busy = load i64, ptr %busy.at
  %idle = icmp eq i64 %busy, 0
  %inputs.count.at = getelementptr %Plan, ptr %plan, i32 0, i32 3
  %inputs.count = load i64, ptr %inputs.count.at
  %all = icmp eq i64 %count, %inputs.count
  %possible = and i1 %idle, %all
  br i1 %possible, label %inputs, label %decline

inputs:
  %inputs.at = getelementptr %Plan, ptr %plan, i32 0, i32 4
  %inputs.first = load ptr, ptr %inputs.at
  br label %next_input
next_input:
  %i = phi i64 [ 0, %inputs ], [ %i.next, %accepted ]
  %more_inputs = icmp ult i64 %i, %count
  br i1 %more_inputs, label %check_type, label %outputs
check_type:
  %given.at = getelementptr ptr, ptr %arguments, i64 %i
  %given = load ptr, ptr %given.at
  %expected = getelementptr %Input, ptr %inputs.first, i64 %i
  %type.at = getelementptr %Object, ptr %given, i32 0, i32 1
  %type = load ptr, ptr %type.at
  %is_array = icmp eq ptr %type, %ndarray
  br i1 %is_array, label %check_array, label %decline
check_array:
  %dtype.at = getelementptr %Array, ptr %given, i32 0, i32 6
  %dtype = load ptr, ptr %dtype.at
  %dtype.expected = load ptr, ptr %expected
  %same_dtype = icmp eq ptr %dtype, %dtype.expected
  %flags.at = getelementptr %Array, ptr %given, i32 0, i32 7
  %flags = load i32, ptr %flags.at
  %layout = and i32 %flags, 257                        ; NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED
  %dense = icmp eq i32 %layout, 257
  %rank.at = getelementptr %Array, ptr %given, i32 0, i32 2
  %rank.short = load i32, ptr %rank.at
  %rank = sext i32 %rank.short to i64
  %rank.expected.at = getelementptr %Input, ptr %expected, i32 0, i32 1
  %rank.expected = load i64, ptr %rank.expected.at
  %same_rank = icmp eq i64 %rank, %rank.expected
  %right_kind = and i1 %same_dtype, %dense
  %right = and i1 %right_kind, %same_rank
  br i1 %right, label %extents, label %decline
extents:
  %extents.at = getelementptr %Array, ptr %given, i32 0, i32 3
  %given.extents = load ptr, ptr %extents.at
  %extents.expected.at = getelementptr %Input, ptr %expected, i32 0, i32 2
  %expected.extents = load ptr, ptr %extents.expected.at
  br label %next_extent
next_extent:
  %d = phi i64 [ 0, %extents ], [ %d.next, %check_extent ]
  %more_extents = icmp ult i64 %d, %rank
  br i1 %more_extents, label %check_extent, label %accepted
check_extent:
  %extent.at = getelementptr i64, ptr %given.extents, i64 %d
  %extent = load i64, ptr %extent.at
  %extent.expected.at = getelementptr i64, ptr %expected.extents, i64 %d
  %extent.expected = load i64, ptr %extent.expected.at
  %same_extent = icmp eq i64 %extent, %extent.expected
  %d.next = add i64 %d, 1
  br i1 %same_extent, label %next_extent, label %decline
accepted:
  %data.at = getelementptr %Array, ptr %given, i32 0, i32 1
  %data = load ptr, ptr %data.at
  %entry.input = getelementptr ptr, ptr %entry.inputs, i64 %i
  store ptr %data, ptr %entry.input
  %i.next = add i64 %i, 1
  br label %next_input

outputs:
  store i64 1, ptr %busy.at                            ; from here on Python may run: finalizers, other threads
  %largest.at = getelementptr %Plan, ptr %plan, i32 0, i32 7
  %largest = load i64, ptr %largest.at
  %beside.at = getelementptr i64, ptr %entry.inputs, i64 %largest
  %beside = load i64, ptr %beside.at
  %beside.line = and i64 %beside, -64
  %outputs.count.at = getelementptr %Plan, ptr %plan, i32 0, i32 5
  %outputs.count = load i64, ptr %outputs.count.at
  %outputs.at = getelementptr %Plan, ptr %plan, i32 0, i32 6
  %outputs.first = load ptr, ptr %outputs.at
  %list_new.at = getelementptr ptr, ptr %functions, i32 4
  %list_new = load ptr, ptr %list_new.at
  %list = call ptr %list_new(i64 %outputs.count)
  %no_list = icmp eq ptr %list, null
  br i1 %no_list, label %fail, label %next_output
next_output:
  %o = phi i64 [ 0, %outputs ], [ %o.next, %made ]
  %more_outputs = icmp ult i64 %o, %outputs.count
  br i1 %more_outputs, label %memory, label %run
memory:
  %output = getelementptr %Output, ptr %outputs.first, i64 %o
  %owners.at = getelementptr %Output, ptr %output, i32 0, i32 1
  %owners = load ptr, ptr %owners.at
  %small = icmp eq ptr %owners, null
  br i1 %small, label %make, label %first_owner        ; small memory is malloc's
first_owner:
  %one = load ptr, ptr %owners
  %one.free = call i1 @lamina_unused(ptr %one)
  br i1 %one.free, label %place, label %second_owner
second_owner:
  %two.at = getelementptr ptr, ptr %owners, i32 1
  %two = load ptr, ptr %two.at
  %two.free = call i1 @lamina_unused(ptr %two)
  br i1 %two.free, label %place, label %give_up
place:                                                 ; as OutputMemory.take does
  %owner.array = phi ptr [ %one, %first_owner ], [ %two, %second_owner ]
  call void %incref(ptr %owner.array)
  %bytes.at = getelementptr %Array, ptr %owner.array, i32 0, i32 1
  %bytes = load i64, ptr %bytes.at
  %alignment.at = getelementptr %Output, ptr %output, i32 0, i32 2
  %alignment = load i64, ptr %alignment.at
  %alignment.less = sub i64 %alignment, 1
  %bytes.up = add i64 %bytes, %alignment.less
  %alignment.mask = sub i64 0, %alignment
  %start = and i64 %bytes.up, %alignment.mask
  %apart = sub i64 %beside.line, %start
  %shift = and i64 %apart, 4095
  %begin = add i64 %start, %shift
  %begin.ptr = inttoptr i64 %begin to ptr
  br label %make
make:
  %base = phi ptr [ null, %memory ], [ %owner.array, %place ]
  %address = phi ptr [ null, %memory ], [ %begin.ptr, %place ]
  %flags.made = phi i32 [ 0, %memory ], [ 1281, %place ]  ; NPY_ARRAY_CARRAY
  %dtype.made = load ptr, ptr %output
  call void %incref(ptr %dtype.made)
  %rank.made.at = getelementptr %Input, ptr %output, i32 0, i32 1
  %rank.made = load i64, ptr %rank.made.at
  %rank.made.short = trunc i64 %rank.made to i32
  %extents.made.at = getelementptr %Input, ptr %output, i32 0, i32 2
  %extents.made = load ptr, ptr %extents.made.at
  %new_array.at = getelementptr ptr, ptr %functions, i32 8
  %new_array = load ptr, ptr %new_array.at
  %array = call ptr %new_array(ptr %ndarray, ptr %dtype.made, i32 %rank.made.short, ptr %extents.made, ptr null,
                               ptr %address, i32 %flags.made, ptr null)
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %release, label %based
release:
  br i1 %small, label %drop_and_fail, label %release_owner
release_owner:
  call void %decref(ptr %base)
  br label %drop_and_fail
based:
  br i1 %small, label %made, label %set_base
set_base:
  %set_base.at = getelementptr ptr, ptr %functions, i32 9
  %set_base.function = load ptr, ptr %set_base.at
  %refused = call i32 %set_base.function(ptr %array, ptr %base)   ; the reference is the array's now
  %is_refused = icmp slt i32 %refused, 0
  br i1 %is_refused, label %drop_array, label %made
drop_array:
  call void %decref(ptr %array)
  br label %drop_and_fail
made:
  %list_set.at = getelementptr ptr, ptr %functions, i32 5
  %list_set = load ptr, ptr %list_set.at
  %set = call i32 %list_set(ptr %list, i64 %o, ptr %array)
  %made.data.at = getelementptr %Array, ptr %array, i32 0, i32 1
  %made.data = load ptr, ptr %made.data.at
  %entry.output = getelementptr ptr, ptr %entry.outputs, i64 %o
  store ptr %made.data, ptr %entry.output
  %o.next = add i64 %o, 1
  br label %next_output

run:
  %code = load ptr, ptr %entry.at
  %arena.at = getelementptr ptr, ptr %entry.at, i32 3
  %arena = load ptr, ptr %arena.at
  %constants.at = getelementptr ptr, ptr %entry.at, i32 4
  %constants = load ptr, ptr %constants.at
  %pool.at = getelementptr ptr, ptr %entry.at, i32 5
  %pool = load ptr, ptr %pool.at
  %save.at = getelementptr ptr, ptr %functions, i32 6
  %save = load ptr, ptr %save.at
  %restore.at = getelementptr ptr, ptr %functions, i32 7
  %restore = load ptr, ptr %restore.at
  %thread = call ptr %save()                           ; others may run Python meanwhile
  %status = call i32 %code(ptr %entry.inputs, ptr %entry.outputs, ptr %arena, ptr %constants, ptr %pool)
  call void %restore(ptr %thread)
  store i64 0, ptr %busy.at
  %good = icmp eq i32 %status, 0
  br i1 %good, label %return, label %drop
return:
  ret ptr %list

give_up:
  store i64 0, ptr %busy.at
  br label %drop
drop:
  call void %decref(ptr %list)
  br label %decline
decline:
  call void %incref(ptr %none)
  ret ptr %none
drop_and_fail:
  call void %decref(ptr %list)
  br label %fail
fail:
  store i64 0, ptr %busy.at
  ret ptr null
}

; Whether there is memory that no array lies in: its only reference is the plan's.
define internal i1 @lamina_unused(ptr %owner) {
entry:
  %references = load i32, ptr %owner                   ; the lower half counts, in every version of CPython
  %alone = icmp eq i32 %references, 1
  ret i1 %alone
}
