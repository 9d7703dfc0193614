"""Applications on ishmem: ``ishmem demo NAME`` runs one, ``python -m tools.applications`` measures them. Installed as
``ishmem.examples.apps``.

An application is a module with one subclass of `App`: a frozen dataclass whose fields are the options. `App` says what
it implements: the program, the same program with mpi4py, a check against an independent reference, and a picture.
"""

from __future__ import annotations

import difflib
import importlib

from ishmem.examples.apps.frame import App, MpiRun, Run, Wrong

__all__ = ["APPS", "App", "MpiRun", "Run", "Wrong", "find"]

APPS = ("gups", "isx", "jacobi", "bfs", "fft2d", "fft3d", "retrieval", "matmul_allscatter", "decode")
"""The names of the applications, which are those of the modules."""


def find(name: str) -> type[App]:
    """Return the class of an application.

    Raises:
        ValueError: There is none of this name; the message has the names.
    """
    if name not in APPS:
        close = difflib.get_close_matches(name, APPS, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise ValueError(f"no such application: {name}; {hint}Allowed are {', '.join(APPS)}")
    module = importlib.import_module(f"ishmem.examples.apps.{name}")
    app: type[App] = getattr(module, "".join(word.capitalize() for word in name.split("_")))
    return app
