"""ishmem: a SHMEM library for Intel GPUs in Python.

PGAS programming for Intel GPUs: every PE owns a GPU and a symmetric heap in its memory, and reads, writes and
atomically updates the same arrays on every other PE, from the host and from inside kernels, by the same names.
"""

import sys
from typing import Any

import lazy_loader

from .environment import stack
from .runtime import kernel_loading

__version__ = "0.1.0"

# Names are looked up in __init__.pyi and imported when first used, so that ishmrun starts quickly.
_import, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _import(name)
    except AttributeError as error:
        error.name, error.obj = name, sys.modules[__name__]  # so that Python suggests a similar name
        raise


def load_ipython_extension(shell: Any) -> None:
    """Add the cell magic ``%%ishmem`` to IPython, for ``%load_ext ishmem``: see `ishmem.notebook`."""
    from ishmem import notebook

    notebook.load(shell)


stack.load_when_needed()
kernel_loading.watch()
