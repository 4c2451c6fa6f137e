"""What the hardware of a machine is made of: Yosys' count of gates and flip-flops, memories left as they are."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from ...backends.systolic.rtl.generate import TOP, generate
from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine

# Module by module: what is flat takes many times as long. Behind `techmap` only `opt_clean`: ABC folds what is constant
# in seconds, where `opt_expr` takes a quarter of an hour.
_SCRIPT = (
    "read_verilog -sv {file}; hierarchy -check -top {top}; proc; opt -fast; memory -nomap; opt -fast; wreduce; "
    "alumacc; maccmap -unmap; opt -fast; techmap; opt_clean; abc -fast -g AND,OR,XOR,MUX; opt_clean; stat"
)
_LINE = re.compile(r"^\s+(\$?\w+)\s+(\d+)\s*$", re.MULTILINE)


def count_gates(machine: SystolicMachine, top: str = TOP, seconds: float = 1800) -> dict[str, int]:
    """How many of each kind there are: `gates`, `flip-flops`, `memories`, and the cells by name.

    `top` is the module that is counted, with those in it; by default all.
    Raises LaminaError where Yosys is missing, refuses the hardware or takes too long.
    """
    yosys = shutil.which("yosys")
    if yosys is None:
        raise LaminaError("Yosys is not installed", hint="apt install yosys")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{TOP}.sv"
        file.write_text(generate(machine))
        script = _SCRIPT.format(file=file, top=top)
        try:
            done = subprocess.run([yosys, "-p", script], capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise LaminaError(f"Yosys did not end within {seconds:g} seconds") from None
    if done.returncode:
        raise LaminaError("Yosys refuses the hardware", notes=tuple(done.stderr.splitlines()[-5:]))
    return _counted(done.stdout)


def _counted(report: str) -> dict[str, int]:
    """The counts in the last report of Yosys, which is of the whole design."""
    cells = Counter({name: int(count) for name, count in _LINE.findall(report[report.rindex("Number of cells") :])})
    flops = sum(count for name, count in cells.items() if "DFF" in name)
    memories = sum(count for name, count in cells.items() if name.startswith("$mem"))
    return {"gates": cells.total() - flops - memories, "flip-flops": flops, "memories": memories, **cells}
