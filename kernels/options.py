"""The options of the job, as constants of the modules of device code: ``from .options import CHECK``.

numba removes a branch on a global constant of a function's module before it infers types. So a routine is one function
for all jobs, and a branch that a job does not take need not have types there.
"""

from __future__ import annotations

import sys
from typing import Any

from ishmem.runtime import kernel_constants
from ishmem.runtime.kernel_constants import CompileOptions

CHECK = SPANS = ROUTED = LEVELS = LATE = STAGED = COPIES_BY_PROXY = PROXIED = False
WIDE = 0
NO_WAITS = ""

NAMES = tuple(name.upper() for name in dir(CompileOptions) if not name.startswith("_"))
"""The constants: fields and properties of `CompileOptions` in capitals."""


def constants_of(options: CompileOptions) -> dict[str, Any]:
    """Return the constants of device code for ``options``, by name."""
    return {name: getattr(options, name.lower()) for name in NAMES}


def set_constants(options: CompileOptions) -> None:
    """Set the constants for ``options``, here and in the modules that have imported them."""
    constants = constants_of(options)
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{__package__}."):
            own = vars(module)
            own.update((each, value) for each, value in constants.items() if each in own)


kernel_constants.when_bound(set_constants)
