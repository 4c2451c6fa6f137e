"""What was measured of a machine, as a file in the user's cache folder."""

from __future__ import annotations

import tomllib
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

from .artefact import written_whole


@dataclass(frozen=True)
class Measured:
    """What one core of a machine reaches, float32 and from L1, L2, L3 and memory; a copy counts bytes read and written.

    `fork_join_us` is a parallel loop over nothing on all cores, in microseconds.
    """

    fma_gflops: float
    read_gbs: tuple[float, ...]
    copy_gbs: tuple[float, ...]
    fork_join_us: float

    @staticmethod
    def read(path: Path) -> Measured | None:
        """What `write` wrote; None where nothing was measured, or the file is not right (which is a warning)."""
        try:
            data = tomllib.loads(path.read_text())
            reads, copies = (tuple(map(float, data[name])) for name in ("read_gbs", "copy_gbs"))
            found = Measured(float(data["fma_gflops"]), reads, copies, float(data["fork_join_us"]))
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
            warnings.warn(f"{path}: not what `lamina targets --measure` writes: {error}", stacklevel=2)
            return None
        good = all(value > 0 for value in (found.fma_gflops, *reads, *copies, found.fork_join_us))
        return found if good and len(reads) == len(copies) == 4 else None

    def write(self, path: Path) -> None:
        """Keeps the numbers as TOML."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lines = [f"{name} = {list(v) if isinstance(v, tuple) else v}" for name, v in asdict(self).items()]
        with written_whole(path) as file:
            file.write(("# What lamina targets --measure found.\n" + "\n".join(lines) + "\n").encode())
