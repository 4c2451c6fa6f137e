"""Descriptions of systolic arrays are checked, and named by what programs rely on."""

from dataclasses import replace
from pathlib import Path

import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.systolic_machine import SystolicMachine

TINY = SystolicMachine.preset("tiny4")


def test_presets_differ() -> None:
    machines = [SystolicMachine.preset(name) for name in SystolicMachine.names()]
    assert len({machine.hash for machine in machines}) == len(machines) == 8
    assert replace(TINY, name="other", clock_mhz=1).hash == TINY.hash


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": 129}, "'rows' is 129 (from 2 to 128)"),
        ({"cols": 1}, "'cols' is 1 (from 2 to 128)"),
        ({"read_bytes": 12}, "'read_bytes' is 12 (a bus is a power of two bytes wide)"),
        ({"spm_bytes": 4097}, "'spm_bytes' is 4097 (a whole number of rows of 4 bytes, 2 to 65536 of them)"),
        ({"acc_bytes": 16}, "'acc_bytes' is 16 (a whole number of rows of 16 bytes"),
        ({"dma_latency": 0}, "'dma_latency' is 0 (from 1 to 1000)"),
    ],
)
def test_wrong_sizes_are_told(changes: dict[str, int], message: str) -> None:
    with pytest.raises(LaminaError) as error:
        replace(TINY, **changes)
    assert message in str(error.value)


def test_files_are_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = "\n".join(f"{k} = {v}" for k, v in vars(TINY).items() if k != "name")
    file.write_text(text)
    found = SystolicMachine.preset(str(file))
    assert found.hash == TINY.hash and SystolicMachine.preset(found.name) == found
    for change, message in (
        ("", "lacks acc_bytes"),
        (text + "\nbanks = 2", "'banks' is nothing known"),
        (text.replace("rows = 4", 'rows = "4"', 1), "'rows' is '4'"),
        ("rows = ", "no machine can be read"),
    ):
        file.write_text(change)
        with pytest.raises(LaminaError, match=message):
            SystolicMachine.read(file)
    with pytest.raises(LaminaError, match="unknown systolic machine 'tiny5'"):
        SystolicMachine.preset("tiny5")
