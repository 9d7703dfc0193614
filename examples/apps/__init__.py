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

APPS = {
    "gups": "Gups",
    "isx": "Isx",
    "jacobi": "Jacobi",
    "bfs": "Bfs",
    "fft2d": "Fft2d",
    "fft3d": "Fft3d",
    "retrieval": "Retrieval",
    "matmul_allscatter": "MatmulAllscatter",
    "decode": "Decode",
}
"""The applications: the name, which is that of the module, and the class."""


def find(name: str) -> type[App]:
    """Return the class of an application.

    Raises:
        ValueError: There is none of this name; the message has the names.
    """
    if name not in APPS:
        close = difflib.get_close_matches(name, APPS, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise ValueError(f"no such application: {name}; {hint}Allowed are {', '.join(APPS)}")
    app: type[App] = getattr(importlib.import_module(f"ishmem.examples.apps.{name}"), APPS[name])
    return app
