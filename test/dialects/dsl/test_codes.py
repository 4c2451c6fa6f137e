"""Every code of checking is what its wrong example gives, and its right one gives no problem."""

from pathlib import Path

import pytest

from lamina.dialects.dsl.language.codes import CODES
from lamina.dialects.dsl.language.codes_checking import CHECKING
from lamina.dialects.dsl.load import check, load_file


def found(text: str, folder: Path | None) -> list[str]:
    return [p.code for p in check(load_file(text, "program.lam", folder)).found]


@pytest.mark.parametrize("code", sorted(set(CHECKING) - {"E701"}))
def test_examples(code: str) -> None:
    assert code in found(CHECKING[code].wrong, None)
    assert not [c for c in found(CHECKING[code].right, None) if c == code or c.startswith("E")]


def test_circle_of_imports(tmp_path: Path) -> None:
    file = tmp_path / "circle.lam"
    file.write_text(CHECKING["E701"].wrong)
    assert [p.code for p in check(load_file(file)).found] == ["E701"]


def test_codes_are_once() -> None:
    assert set(CHECKING) <= set(CODES)
