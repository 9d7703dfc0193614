"""ishmem: a SHMEM library for Intel GPUs in Python.

Each PE, a process of the job, has a GPU and in its memory a symmetric heap: arrays that exist on every PE. A PE reads,
writes and atomically updates the arrays of the others, from the host and inside kernels, and names them by its own.
"""

import importlib
from typing import Any

import lazy_loader

from .common import exports
from .common.deferred_signals import deferred
from .environment import stack
from .runtime import kernel_loading

__version__ = "0.1.0"

# A module is imported when one of its names is first used, so that a program starts quickly.
_import, __dir__, __all__ = lazy_loader.attach(__name__, exports.MODULES, exports.by_module())

_ELSEWHERE = {
    "allgather": "fcollect",
    "allgatherv": "collect",
    "allreduce": "sum_reduce (or max_reduce, min_reduce, prod_reduce, ...)",
    "barrier": "barrier_all, or Team.sync for the PEs of a team",
    "bcast": "broadcast",
    "get_rank": "my_pe",
    "irecv": "get_nbi, or wait_until for what another PE puts",
    "isend": "put_nbi",
    "my_rank": "my_pe",
    "num_pes": "n_pes",
    "rank": "my_pe",
    "recv": "get, or wait_until for what another PE puts",
    "reduce": "sum_reduce (or max_reduce, min_reduce, prod_reduce, ...), which gives all PEs the result",
    "scan": "sum_inscan",
    "send": "put",
    "size": "n_pes",
    "sync": "sync_all, or Team.sync for the PEs of a team",
}
"""Names of routines in other libraries, each with the name or description of its equivalent in ishmem."""


def __getattr__(name: str) -> Any:
    if name == "torch":  # requires torch, so it is not in __all__
        return importlib.import_module("ishmem.torch")
    try:
        with deferred():
            found = globals()[name] = _import(name)  # lazy_loader before 0.6 does not store it
        return found
    except AttributeError:
        advice = f"; its name here is {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
        raise AttributeError(f"module 'ishmem' has no attribute {name!r}{advice}") from None


def load_ipython_extension(shell: Any) -> None:
    """Register the cell magic ``%%ishmem`` in the IPython shell ``shell``; ``%load_ext ishmem`` calls this."""
    from ishmem import notebook

    notebook.load(shell)


stack.load_when_needed()
kernel_loading.watch()
