"""Validates the SPIR-V of kernels with Khronos's ``spirv-val``; no GPU is needed.

``.ci/spirv-val`` downloads it into a folder of ``build``; otherwise the one in the ``PATH`` is used.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

FETCHED = Path("build/spirv-val")


def find(folder: Path = FETCHED) -> str | None:
    """Return the path of ``spirv-val`` in a folder, else of the one in the ``PATH``; None if there is none."""
    return shutil.which("spirv-val", path=str(folder.absolute())) or shutil.which("spirv-val")


def fault(validator: str, code: bytes) -> str:
    """Return the validator's message for ``code``, a SPIR-V module; empty if it is valid."""
    done = subprocess.run([validator, "-"], input=code, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    said = done.stdout.decode(errors="replace").strip()
    return (said or f"spirv-val: exit status {done.returncode}") if done.returncode else ""
