"""A second, different accelerator comes as a package: nothing in the core knows of it."""

import os
import subprocess
import sys
from pathlib import Path

from lamina.tools.tiny_models import write

EXAMPLE = Path(__file__).parents[2] / "plugin_accelerator"


def test_accelerator_by_plug_in(tmp_path: Path) -> None:
    lines = sum(len(path.read_text().splitlines()) for path in (EXAMPLE / "lamina_dots").glob("*.py"))
    assert lines <= 300
    model = write("autoencoder", tmp_path)
    info = tmp_path / "lamina_dots-0.1.0.dist-info"  # as installing it makes it
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lamina-dots\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(
        "[xdsl.universe]\ndots = lamina_dots.universe:UNIVERSE\n\n"
        "[lamina.targets]\ndots = lamina_dots.target:DotsTarget\n"
    )
    paths = [str(tmp_path), str(EXAMPLE), *(p for p in sys.path if p)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "LAMINA_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "lamina.tools.main", "run", str(model), "--target", "dots:32", "--check"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "largest error 0.00e+00" in done.stdout
    assert "systolic_1: product x10" in done.stderr and "cycles" in done.stderr
    listed = subprocess.run([*command[:3], "targets"], env=environment, capture_output=True, text=True, timeout=300)
    assert "dots (package lamina-dots)\n  multipliers        16\n" in listed.stdout
    (tmp_path / "lamina_broken.py").write_text("def Broken(detail):\n    return {}[detail]\n")
    points = info / "entry_points.txt"
    points.write_text(points.read_text() + "broken = lamina_broken:Broken\n")
    told = "target 'broken' of package 'lamina-dots' fails: KeyError: ''"
    environment["LAMINA_CACHE"] = str(tmp_path / "other")
    listed = subprocess.run([*command[:3], "targets"], env=environment, capture_output=True, text=True, timeout=300)
    assert listed.returncode == 0 and "dots (package lamina-dots)" in listed.stdout
    assert listed.stderr == f"warning: {told}\n"
    broken = [*command[:5], "--target", "broken"]
    done = subprocess.run(broken, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and done.stderr.endswith(f"error: {told}\n")
