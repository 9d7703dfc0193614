"""The compiler of kernels and its features: numba-dpex where it is installed, else that of `ishmem.dpex`.

Other modules do not depend on numba-dpex, but read `COMPILER`. `ishmem.kernels` uses the compiler by the names of
`dpex.front_end.adapter`. The folder ``numba_dpex`` replaces functions of numba-dpex that are wrong or slow.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from typing import NamedTuple


class FrontEnd(NamedTuple):
    """A compiler of kernels.

    Attributes:
        name: The compiler's name in messages.
        package: The package from which programs import the decorators.
        module: The module whose import loads the compiler.
        is_own: Whether it is that of `ishmem.dpex`.
        asks_extension: Whether it calls `Extension.load` itself; else the extension is loaded with the compiler.
        builds_again: Whether kernels can be built again with the addresses of another job.
        compiles_ahead: Whether it can compile device functions before a program needs them.
        has_views: Whether kernels may call ``a.view(dtype)``.
        leaves_devices: Whether its import leaves devices uninitialised.
    """

    name: str
    package: str
    module: str
    is_own: bool
    asks_extension: bool
    builds_again: bool
    compiles_ahead: bool
    has_views: bool
    leaves_devices: bool


_OWN = FrontEnd(
    "ishmem.dpex", "ishmem.dpex", "ishmem.dpex.decorators", is_own=True, asks_extension=True, builds_again=True,
    compiles_ahead=True, has_views=True, leaves_devices=True,
)  # fmt: skip

_NUMBA_DPEX = FrontEnd(
    "numba-dpex", "numba_dpex", "numba_dpex", is_own=False, asks_extension=False, builds_again=False,
    compiles_ahead=False, has_views=False, leaves_devices=False,
)  # fmt: skip

# PathFinder calls no import hooks, which may act on the name.
COMPILER = _NUMBA_DPEX if PathFinder.find_spec(_NUMBA_DPEX.package) else _OWN
"""The compiler of kernels in this installation."""
