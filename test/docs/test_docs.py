"""The commands on the documentation's pages run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))
NEEDS = {"pytorch": "torch", "jax": "jax"}  # pages on what is optional
COMMANDS = {"lamina": "lamina.tools.main", "lamina-opt": "lamina.tools.opt"}


def script(page: Path) -> str:
    """The lines after `$`, with the lines after `>` that continue them, of every console block."""
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(), re.S)
    return "\n".join(line[2:] for block in blocks for line in block.splitlines() if line[:1] in "$>")


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """How a shell runs a module as `python -m` does: by copies of a server that has imported everything."""
    path = tmp_path_factory.mktemp("server") / "socket"
    ours = Path(__file__)
    program = [sys.executable, str(ours.with_name("command_server.py")), str(path)]
    server = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None and server.stdout.readline() == "ready\n"
    yield f'"{sys.executable}" -IS "{ours.with_name("command_client.py")}" "{path}"'
    server.kill()
    server.wait()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands(page, tmp_path, runner):
    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem])
    text = script(page)
    assert text
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, module in COMMANDS.items():
        (tools / name).write_text(f'#!/bin/sh\nexec {runner} {module} "$@"\n')
    (tools / "python").write_text(
        f'#!/bin/sh\n[ "$1" != -m ] || {{ shift; exec {runner} "$@"; }}\nexec "{sys.executable}" "$@"\n'
    )
    for tool in tools.iterdir():
        tool.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "LAMINA_CACHE": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr + done.stdout[-2000:]
