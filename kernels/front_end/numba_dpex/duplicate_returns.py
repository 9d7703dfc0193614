"""One copy of each end of a function, as `ishmem.dpex` has it: a group has to be in the same call of an operation."""

from __future__ import annotations

import functools
import sys
from typing import Any

from numba_dpex.core.pipelines.kernel_compiler import KernelCompiler

from ishmem.dpex.compile.duplicate_returns import share_ends


def install() -> None:
    """Join the copies before each compilation; CPython 3.9 makes none."""
    if sys.version_info >= (3, 10):
        KernelCompiler._compile_bytecode = _with_shared_ends(KernelCompiler._compile_bytecode)


def _with_shared_ends(compile_bytecode: Any) -> Any:
    @functools.wraps(compile_bytecode)
    def compile(self: Any) -> Any:
        share_ends(self.state)
        return compile_bytecode(self)

    return compile
