"""Short errors for kernels that numba rejects: the kernel, the line of the program and the cause.

numba wraps the cause into the history of its type inference, once for each function on the way. `KernelCompileError`
replaces that; ``ISHMEM_DEBUG`` shows the original.
"""

from __future__ import annotations

from ishmem.common.callsite import CallSite
from ishmem.common.errors import IshmemError
from ishmem.dpex.compile import compile_errors as explaining


class KernelCompileError(explaining.KernelCompileError, IshmemError):
    """A kernel does not compile; the message ends with the line of the program and the cause."""


def explain(name: str, file: str, line: int, text: str) -> KernelCompileError:
    """Return the error for kernel ``name``, defined at ``line`` of ``file``, which numba rejects with ``text``."""
    return explaining.explain(name, file, line, text, _is_library, KernelCompileError)


def _is_library(file: str) -> bool:
    return not CallSite(file, 0, "").is_users
