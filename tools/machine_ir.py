"""LLVM IR of the loops that `lamina targets --measure` times: reading, copying, forking."""

from __future__ import annotations

from ..compiler.machine import Machine

STEP = 8  # vectors that a round of the inner loop takes: enough loads in flight to fill every port


def read_ir(machine: Machine) -> str:
    """`void lamina_measure_read(ptr data, i64 bytes, i64 times)`: loads every byte, so many times."""
    return _walk(machine, "read", "ptr %data", stores=False)


def copy_ir(machine: Machine) -> str:
    """`void lamina_measure_copy(ptr data, ptr to, i64 bytes, i64 times)`: loads and stores every byte, as often."""
    return _walk(machine, "copy", "ptr %data, ptr %to", stores=True)


def fork_ir() -> str:
    """`void lamina_measure_fork(ptr ctx, i64 times)`: as many parallel loops that do nothing, one after another."""
    return """
declare void @lamina_parallel_for(ptr, ptr, ptr, i64)
define internal void @task(ptr %closure, i64 %begin, i64 %end) {
  ret void
}
define void @lamina_measure_fork(ptr %ctx, i64 %times) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @lamina_parallel_for(ptr %ctx, ptr @task, ptr null, i64 1024)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %times
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def _walk(machine: Machine, name: str, pointers: str, *, stores: bool) -> str:
    """A loop over the bytes inside a loop over the times; volatile, so that each access is made each time."""
    size = machine.vector_bytes
    type_ = f"<{machine.lanes(4)} x i32>"
    body: list[str] = []
    for part in range(STEP):
        body.append(f"  %o{part} = add i64 %i, {part * size}")
        body.append(f"  %p{part} = getelementptr i8, ptr %data, i64 %o{part}")
        body.append(f"  %v{part} = load volatile {type_}, ptr %p{part}, align {size}")
        if stores:
            body.append(f"  %q{part} = getelementptr i8, ptr %to, i64 %o{part}")
            body.append(f"  store volatile {type_} %v{part}, ptr %q{part}, align {size}")
    lines = "\n".join(body)
    return f"""
define void @lamina_measure_{name}({pointers}, i64 %bytes, i64 %times) {{
entry:
  br label %again
again:
  %t = phi i64 [ 0, %entry ], [ %t_next, %end ]
  br label %loop
loop:
  %i = phi i64 [ 0, %again ], [ %next, %loop ]
{lines}
  %next = add i64 %i, {STEP * size}
  %more = icmp ult i64 %next, %bytes
  br i1 %more, label %loop, label %end
end:
  %t_next = add i64 %t, 1
  %t_more = icmp ult i64 %t_next, %times
  br i1 %t_more, label %again, label %done
done:
  ret void
}}
"""
