"""Files of the translator to SPIR-V in memory: a process that is killed while it compiles leaves none behind."""

from __future__ import annotations

import os
from typing import Any

from numba_dpex.kernel_api_impl.spirv import spirv_generator


def install() -> None:
    """Replace the class of numba-dpex that translates a module by way of a temporary folder."""
    spirv_generator.Module = _Module


class _Module(spirv_generator.Module):  # type: ignore[misc]
    def __init__(self, context: Any, llvmir: str, llvmbc: bytes) -> None:
        self.context, self._llvmir, self._llvmbc, self._llvmfile = context, llvmir, llvmbc, None
        self._finalized = False
        self._tempfiles: list[int] = []

    def __del__(self) -> None:
        for file in self._tempfiles:
            os.close(file)

    def _track_temp_file(self, name: str) -> str:
        """Return the path of a new file, for this process and the translator."""
        self._tempfiles.append(os.memfd_create(name))
        process = os.readlink("/proc/self")  # not getpid: in a namespace, /proc may know another number
        return f"/proc/{process}/fd/{self._tempfiles[-1]}"
