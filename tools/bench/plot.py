"""Bar charts as SVG, written by hand: no library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from ...compiler.diagnostics import LaminaError

BAR, GAP, LEFT, WIDTH, TOP = 14, 4, 300, 480, 46  # pixels; LEFT is for the labels
FASTER, SLOWER, NONE = "#2a7f62", "#b5483a", "#999999"


def write_plot(path: Path, title: str, bars: Sequence[tuple[str, float | None]]) -> None:
    """Writes a bar per label, shortest first, with a line at 1; None is a case without a value.

    Raises LaminaError when the file cannot be written.
    """
    try:
        path.write_text(chart(title, bars))
    except OSError as error:
        raise LaminaError(f"cannot write: {error.strerror}", where=str(path)) from error


def chart(title: str, bars: Sequence[tuple[str, float | None]]) -> str:
    """The SVG."""
    ordered = sorted(bars, key=lambda bar: bar[1] or 0.0)
    longest = max(1.25, *(value or 0.0 for _, value in ordered)) if ordered else 1.25
    height = TOP + len(ordered) * (BAR + GAP) + 20
    one = LEFT + WIDTH / longest
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 70}" height="{height}" '
        f'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="20" font-size="14">{escape(title)}</text>',
    ]
    for place, (label, value) in enumerate(ordered):
        y = TOP + place * (BAR + GAP)
        size = WIDTH * (value or 0.0) / longest
        colour = NONE if value is None else FASTER if value >= 1 else SLOWER
        text = "failed" if value is None else f"{value:.2f}"
        lines.append(f'<text x="{LEFT - 8}" y="{y + BAR - 3}" text-anchor="end">{escape(label)}</text>')
        lines.append(f'<rect x="{LEFT}" y="{y}" width="{size:.1f}" height="{BAR}" fill="{colour}"/>')
        lines.append(f'<text x="{LEFT + size + 4:.1f}" y="{y + BAR - 3}">{text}</text>')
    lines.append(f'<line x1="{one:.1f}" x2="{one:.1f}" y1="{TOP - 8}" y2="{height - 16}" stroke="black"/>')
    lines.append(f'<text x="{one:.1f}" y="{TOP - 12}" text-anchor="middle">1.0</text>')
    return "\n".join([*lines, "</svg>", ""])
