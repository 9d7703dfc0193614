"""Tests on several PEs: the pytest plugin, and `Pes`, PEs that run functions.

Tests marked ``@pytest.mark.ishmem(npes=[2, 3])`` run on that many PEs. `plugin` has the hooks, which pytest loads in
every session, and `options` the settings; `controller` hands tests to PEs, and `reports` makes one report of those of
all PEs. `job` starts PEs, asks them and ends them, by `fork_server`, which forks them, or on the emulated nodes of
`nodes`. A PE runs `session_pe`, a session of pytest, or `function_pe`; `link` is its connection. ishmem does not need
pytest, and only the plugin imports it; nothing imports this package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ishmem.testing.pes import Pes, PesError

__all__ = ["Pes", "PesError"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("ishmem.testing.pes"), name)
