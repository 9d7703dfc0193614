"""The compiler of kernels and what it can: numba-dpex where it is installed, else that of `ishmem.dpex`.

No other module of the library depends on numba-dpex: it reads `COMPILER`. `ishmem.kernels` uses the compiler by the
names of `dpex.front_end.adapter`. The folder ``numba_dpex`` replaces what numba-dpex does wrong or slowly.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from typing import NamedTuple


class FrontEnd(NamedTuple):
    """A compiler of kernels.

    Attributes:
        name: Its name in messages.
        package: The package of the language, from which programs take its names.
        module: The module whose import loads it.
        is_own: Whether it is that of `ishmem.dpex`. The rest says what it can.
        asks_extension: It calls the `Extension` before it compiles; another is extended when it is loaded.
        builds_again: Kernels can be built with the addresses of another job.
        compiles_ahead: It compiles device functions before a program needs them.
        has_views: Kernels may call ``a.view(dtype)``.
        leaves_devices: Its import initialises no device.
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

# No import hook is asked: it may act on the name.
COMPILER = _NUMBA_DPEX if PathFinder.find_spec(_NUMBA_DPEX.package) else _OWN
"""The compiler of kernels in this installation."""
