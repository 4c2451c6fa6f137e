"""The page of the systolic instructions is what the table says."""

from pathlib import Path

from lamina.tools.systolic.page import page

PAGE = Path(__file__).parents[2] / "docs" / "systolic-isa.md"


def test_the_page_is_the_table() -> None:
    assert PAGE.read_text() == page(), "`lamina systolic spec -o docs/systolic-isa.md` writes it"
