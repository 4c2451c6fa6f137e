"""The binary of a program: instructions, constants and the map of its DRAM, for one machine.

    magic  u32 length of the manifest  manifest (JSON)  instructions  constants  SHA-256 of all before

The manifest names the machine and its hash, the bytes of DRAM, the buffers, and where each constant goes.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from ...dialects.systolic.control import check_structure
from ...dialects.systolic.encoding import WORD_BYTES, Instruction, decode_all, encode_all
from ...dialects.systolic.limits import check_all_limits

MAGIC = b"LAMSYS\x00\x01"
KINDS = ("input", "output", "scratch")
DRAM_MOST = 1 << 32


@dataclass(frozen=True)
class Buffer:
    """Bytes of DRAM with a name: what is put in before the start (`input`) or read at the end (`output`)."""

    name: str
    address: int
    size: int
    kind: str


@dataclass(frozen=True)
class Constant:
    """Bytes that lie in DRAM at the start: weights, scales, tables."""

    name: str
    address: int
    data: bytes


@dataclass(frozen=True)
class Binary:
    """A program with its data. `dram_bytes` is how much DRAM it needs; addresses are from 0 on."""

    machine: SystolicMachine
    instructions: Sequence[Instruction]
    dram_bytes: int
    buffers: Sequence[Buffer] = ()
    constants: Sequence[Constant] = field(default=(), repr=False)

    def verify(self, where: str = "program") -> None:
        """Raises LaminaError if it cannot run: structure, rows that the machine lacks, data outside of DRAM."""
        if not 0 <= self.dram_bytes <= DRAM_MOST:
            raise LaminaError(f"needs {self.dram_bytes} bytes of DRAM", where=where, hint=f"{DRAM_MOST} is the most")
        check_structure(self.instructions)
        check_all_limits(self.instructions, self.machine, f"{where}, ")
        spans = [(b.name, b.address, b.size) for b in self.buffers]
        spans += [(c.name, c.address, len(c.data)) for c in self.constants]
        for name, address, size in spans:
            if address < 0 or size < 0 or address + size > self.dram_bytes:
                raise LaminaError(
                    f"'{name}' lies at {address:#x} to {address + size:#x}, outside of DRAM",
                    where=where,
                    hint=f"it has {self.dram_bytes:#x} bytes",
                )
        for buffer in self.buffers:
            if buffer.kind not in KINDS:
                raise LaminaError(f"buffer '{buffer.name}' is of kind '{buffer.kind}'", hint=f"{', '.join(KINDS)}")

    def to_bytes(self) -> bytes:
        """The file."""
        self.verify()
        text = encode_all(self.instructions)
        manifest = {
            "machine": self.machine.name,
            "hash": self.machine.hash,
            "instructions": len(self.instructions),
            "dram_bytes": self.dram_bytes,
            "buffers": [asdict(buffer) for buffer in self.buffers],
            "constants": [{"name": c.name, "address": c.address, "size": len(c.data)} for c in self.constants],
        }
        head = json.dumps(manifest, sort_keys=True).encode()
        body = MAGIC + struct.pack("<I", len(head)) + head + text + b"".join(c.data for c in self.constants)
        return body + hashlib.sha256(body).digest()

    @staticmethod
    def from_bytes(data: bytes, machine: SystolicMachine, where: str = "binary") -> Binary:
        """The program in a file, for `machine`.

        Raises LaminaError for a file that is none, was changed, or is for a machine with another hash.
        """
        manifest, rest = _manifest(data, where)
        if manifest["hash"] != machine.hash:
            raise LaminaError(
                f"is for machine '{manifest['machine']}' ({manifest['hash']}), not for '{machine.name}' "
                f"({machine.hash})",
                where=where,
                hint="compile the model for this machine",
            )
        size = manifest["instructions"] * WORD_BYTES
        instructions = decode_all(rest[:size], where)
        constants: list[Constant] = []
        at = size
        for entry in manifest["constants"]:
            constants.append(Constant(entry["name"], entry["address"], rest[at : at + entry["size"]]))
            at += entry["size"]
        if at != len(rest):
            raise LaminaError(f"has {len(rest)} bytes of sections, its manifest tells {at}", where=where)
        buffers = [Buffer(**entry) for entry in manifest["buffers"]]
        binary = Binary(machine, instructions, manifest["dram_bytes"], buffers, constants)
        binary.verify(where)
        return binary


def machine_of(data: bytes, where: str = "binary") -> str:
    """The name of the machine that a file is for."""
    return _manifest(data, where)[0]["machine"]


def _manifest(data: bytes, where: str) -> tuple[dict[str, Any], bytes]:
    start = len(MAGIC) + 4
    if not data.startswith(MAGIC):
        raise LaminaError("is no program for a systolic array", where=where, hint="it does not begin like one")
    if len(data) < start + 32 or hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise LaminaError("was cut off or changed", where=where, hint="its checksum differs")
    (size,) = struct.unpack_from("<I", data, len(MAGIC))
    try:
        manifest = json.loads(data[start : start + size])
        _check_manifest(manifest)
    except (ValueError, KeyError, TypeError) as error:
        raise LaminaError(f"has a manifest that cannot be read: {error}", where=where) from None
    return manifest, data[start + size : -32]


def _check_manifest(manifest: Any) -> None:
    numbers = [manifest["instructions"], manifest["dram_bytes"]]
    words = [manifest["machine"], manifest["hash"]]
    for key, names in (("buffers", {"name", "address", "size", "kind"}), ("constants", {"name", "address", "size"})):
        for entry in cast("list[dict[str, Any]]", manifest[key]):
            if set(entry) != names:
                raise ValueError(f"an entry of '{key}' has {sorted(entry)}")
            numbers += [entry["address"], entry["size"]]
            words += [entry["name"]]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("a number is none")
    if not all(isinstance(word, str) for word in words):
        raise ValueError("a name is none")
