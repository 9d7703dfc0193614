"""Tests on several PEs: the pytest plugin, and `Pes`, PEs that run functions.

Tests marked ``@pytest.mark.ishmem(npes=[2, 3])`` run on that many PEs. `plugin` has the hooks, which pytest loads in
every session, and `options` the settings; `controller` sends tests to PEs, and `reports` merges the reports of all PEs.
`pe_job` starts PEs, sends requests and ends them; `fork_server` forks the PEs, or `nodes` starts them on emulated
nodes. A PE runs `session_pe`, a session of pytest, or `function_pe`; `link` is its connection. ishmem does not need
pytest, and only the modules of the plugin import it; no other package imports this one.
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
