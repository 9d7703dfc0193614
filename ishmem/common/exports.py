"""The names that ``ishmem`` exports, each with its module: the table of routines, and a list of the other names."""

from __future__ import annotations

from enum import Enum

from ishmem.common import constants, errors
from ishmem.common.routines import ROUTINES

_OTHERS = {
    "common.constants": [name for name, value in vars(constants).items() if isinstance(value, Enum)],
    "common.errors": [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.IshmemError)
    ],
    "contexts": ["CTX_DEFAULT", "CTX_INVALID", "Ctx", "CtxSession"],
    "teams": ["TEAM_INVALID", "TEAM_NODE", "TEAM_SHARED", "TEAM_WORLD", "Team", "TeamConfig"],
}
MODULES = ("graph", "inference", "moe")
"""The modules of ``ishmem`` that are public by themselves."""


def by_module() -> dict[str, tuple[str, ...]]:
    """Return the exported names, sorted, by module, without ``ishmem.``; modules are in the order of `ROUTINES`."""
    found: dict[str, list[str]] = {}
    for routine in ROUTINES.values():
        for module, name in routine.locations:
            found.setdefault(module, []).append(name)
    for module, names in _OTHERS.items():
        found.setdefault(module, []).extend(names)
    return {module: tuple(sorted(names)) for module, names in found.items()}
