"""Compiles the SPIR-V of kernels with Intel's offline GPU compiler, ``ocloc``; no GPU is needed.

``ocloc`` is part of the compute driver. ``.ci/gpu-compiler`` downloads two of Debian's, of 2022 and of 2026, into
folders of ``build``; otherwise the ``ocloc`` in the ``PATH`` is used.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ishmem.common.layout import Layout
from ishmem.dpex import spirv
from ishmem.runtime import kernel_constants

DEVICES = {"pvc": "Max 1550", "dg2": "Arc"}
NEWER_DEVICES = {**DEVICES, "bmg-g21": "Arc B580", "lnl-m": "Lunar Lake"}
FETCHED = Path("build/gpu-compiler")
NEWER = Path("build/gpu-compiler-sid")
NAME = b"kernel"
ENTRY_POINT, NAME_OF, MEMBER_NAME = 15, 5, 6  # SPIR-V instructions
ZEBIN = "-cl-intel-allow-zebin"  # binary format with the numbers of registers and spills
HEAP, HEAP_SIZE = 0xFF00_0000_0100_0000, 64 << 20  # a device address such as Level Zero allocates on a Max
PATIENCE = 300.0  # seconds for one kernel


class Refused(Exception):
    """The compiler rejected a kernel; the message is its output."""


class Binary(NamedTuple):
    """A compiled kernel.

    Attributes:
        simd: Work-items per hardware thread.
        registers: Registers per hardware thread, of 32 or 64 bytes.
        spilled: Bytes of registers spilled to memory.
    """

    simd: int
    registers: int
    spilled: int


class Compiler:
    """An ``ocloc`` program and the folders of its libraries.

    Attributes:
        devices: The devices to compile for: names of ``ocloc``, each with that of the product.
        year: The year of its release, or ``installed``.
    """

    def __init__(
        self, program: Path, libraries: Iterable[Path], devices: dict[str, str] = DEVICES, year: str = "2022"
    ) -> None:
        self._program, self.devices, self.year = program, devices, year
        self._libraries = list(libraries)
        self._command = [str(program)]
        known = [*map(str, self._libraries), os.environ.get("LD_LIBRARY_PATH", "")]
        self._environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, known))}
        loaders = [folder / "ld-linux-x86-64.so.2" for folder in self._libraries]
        for loader in filter(Path.exists, loaders):  # its libraries need their own C library, which needs its loader
            self._command = [str(loader), "--library-path", ":".join(filter(None, known)), str(program)]
            self._environment = dict(os.environ)

    def version(self) -> str:
        """Return text that identifies the version of this compiler and is valid as a file name."""
        known = [*self._libraries, self._program.parent.parent / "lib"]
        found = next((path for folder in known for path in sorted(folder.rglob("libigc.so.*.*"))), self._program)
        return f"{found.name}-{found.stat().st_size}"

    def compile(self, code: bytes, device: str) -> Binary:
        """Compile SPIR-V ``code`` of a kernel for a device such as ``pvc``; return the properties of the result.

        Raises:
            Refused: The kernel does not compile.
        """
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "kernel.spv").write_bytes(renamed(code))
            options = ["-spirv_input", "-internal_options", ZEBIN, "-output_no_suffix"]
            self._run(folder, "compile", "-file", "kernel.spv", "-device", device, "-output", "kernel", *options)
            binary = next(path for path in folder.iterdir() if path.name != "kernel.spv")
            (folder / "parts").mkdir()
            self._run(folder, "disasm", "-file", binary.name, "-device", device, "-dump", "parts")
            return _binary(folder / "parts")

    def _run(self, folder: Path, *words: str) -> None:
        done = subprocess.run(
            [*self._command, *words], cwd=folder, env=self._environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=PATIENCE,
        )  # fmt: skip
        if done.returncode:
            how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
            said = dict.fromkeys(line for line in done.stdout.splitlines() if line)  # ocloc repeats its messages
            raise Refused("\n".join([f"ocloc {words[0]}: {how}", *said]))


def find(folder: Path = FETCHED) -> Compiler | None:
    """Return the compiler in a folder of unpacked Debian packages, else the one in the ``PATH``; None if none."""
    program = (folder / "usr/bin/ocloc").absolute()
    if program.exists():
        return Compiler(program, (folder.absolute() / "usr/lib").glob("*-linux-gnu"))
    installed = shutil.which("ocloc")
    return Compiler(Path(installed), [], year="installed") if installed else None


def find_newer(folder: Path = NEWER) -> Compiler | None:
    """Return the newer compiler in a folder of unpacked Debian packages; None if there is none."""
    for program in sorted((folder / "usr/bin").absolute().glob("ocloc-*")):
        return Compiler(program, (folder.absolute() / "usr/lib").glob("*-linux-gnu"), NEWER_DEVICES, "2026")
    return None


def renamed(code: bytes) -> bytes:
    """Return module ``code`` without debug names and with kernel name `NAME`, which ``ocloc`` uses in file names."""
    module = []
    for op, operands in spirv.instructions(code):
        if op == ENTRY_POINT:
            words = next(at for at, word in enumerate(operands[2:], 3) if word < 1 << 24)  # a name's last byte is 0
            operands = (*operands[:2], *struct.unpack("<2I", NAME.ljust(8, b"\0")), *operands[words:])
        if op not in (NAME_OF, MEMBER_NAME):
            module.append((op, operands))
    return spirv.assembled(code, module, spirv.bound_of(code))


def as_on_a_gpu(code: bytes) -> bytes:
    """Return a kernel's SPIR-V with the specialisation constants of PE 1 of 4 on a GPU, as set at a launch."""
    constants = kernel_constants.ProcessConstants.of
    process = constants(HEAP, HEAP_SIZE, 1, Layout(4, 4), range(4), simd_width=16, xe_cores=64)
    return spirv.patched(code, kernel_constants.numbered(process))


def _binary(parts: Path) -> Binary:
    """Return the binary described by the disassembler's output files."""
    facts = (parts / ".ze_info").read_text(errors="replace")

    def number(name: str) -> int:
        found = re.search(rf"\b{name}: +(\d+)", facts)
        return int(found[1]) if found else 0

    return Binary(number("simd_size"), number("grf_count"), number("spill_size"))
