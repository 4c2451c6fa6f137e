"""Files of schedules: what is written is read back, and whatever is wrong is told with its line."""

from pathlib import Path

import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.schedules import Entry, Schedules

TEXT = """# by hand
[contractions]
"matmul f32 m13 n100 k64" = "lanes=16 rows=5"  # 3 calls
'conv f32 m7x7 n24 k3x3x5 a=2m0+k0' = "rows=6"
"""


def test_what_is_written_is_read_back():
    schedules = Schedules.parse(TEXT, "a.schedules")
    assert schedules.get("matmul f32 m13 n100 k64") == Entry({"lanes": 16, "rows": 5}, "a.schedules:3")
    assert schedules.get("another") is None
    again = Schedules.parse(schedules.format({"matmul f32 m13 n100 k64": "3 calls"}, "head\nof the file"), "b")
    assert {n: e.values for n, e in again.entries.items()} == {n: e.values for n, e in schedules.entries.items()}
    assert again.digest == schedules.digest and Schedules().digest == ""


def test_the_digest_tells_other_numbers():
    assert Schedules.parse(TEXT, "a").digest != Schedules.parse(TEXT.replace("rows=6", "rows=7"), "a").digest


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rows=6", "rows=-6", "a.schedules:4: error: 'rows=-6' is not a name with a number"),
        ("rows=6", "rows=6 rows=7", "a.schedules:4: error: 'rows' is given twice"),
        ('"rows=6"', "6", "a.schedules:4: error: the schedule of 'conv .* is not text"),
        ('"rows=6"', '"rows=6', "a.schedules:4:.*not TOML"),
        ("[contractions]", "[loops]", "a.schedules:2: error: unknown section 'loops'"),
    ],
)
def test_mistakes_are_told_with_their_line(old: str, new: str, message: str):
    with pytest.raises(LaminaError, match=message):
        Schedules.parse(TEXT.replace(old, new), "a.schedules")


def test_a_missing_file_is_told(tmp_path: Path):
    with pytest.raises(LaminaError, match=r"none.schedules: error: cannot read the schedules: No such file"):
        Schedules.read(tmp_path / "none.schedules")
