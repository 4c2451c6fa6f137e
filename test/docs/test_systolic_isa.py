"""The page of the systolic instructions is what the table says."""

from lamina.tools.systolic.command import PAGE
from lamina.tools.systolic.page import page


def test_the_page_is_the_table() -> None:
    assert PAGE.read_text() == page(), "`lamina systolic spec` writes it"
