"""The code of a kernel for given argument types."""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """A kernel for the driver.

    Attributes:
        name: The name of the kernel in the module.
        spirv: The module.
        llvm: The optimised LLVM code, if it was asked for.
    """

    name: str
    spirv: bytes
    llvm: str = ""
