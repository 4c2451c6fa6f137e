"""Wrong programs and what is said about them: each file of `wrong/` beside its snapshot.

After a message was changed on purpose: `python test/dialects/dsl/test_wrong.py` writes the snapshots anew; read the
difference before keeping it.
"""

from pathlib import Path

import pytest

from lamina.dialects.dsl.language.rendering import render
from lamina.dialects.dsl.load import check, load_file

FOLDER = Path(__file__).parent / "wrong"
PROGRAMS = sorted(FOLDER.glob("*.lam"))


def told(path: Path) -> str:
    files = load_file(path.read_text(), path.name, FOLDER)
    problems = check(files)
    found = sorted(problems.found, key=lambda p: (p.severity != "error", p.span.file, p.span.start))
    return f"{render(found, files.texts)}\n".replace(f"{FOLDER}/", "").replace(str(FOLDER), "the folder")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_is_said(path):
    snapshot = path.with_suffix(".txt").read_text()
    assert told(path) == snapshot
    assert "error[E" in snapshot


def test_there_are_enough():
    assert len(PROGRAMS) >= 60


if __name__ == "__main__":
    for program in PROGRAMS:
        program.with_suffix(".txt").write_text(told(program))
