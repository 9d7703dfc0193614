"""A pytest plugin: the tests of numba-dpex import `ishmem.dpex` under the names of numba-dpex.

For the stack on which numba-dpex cannot be installed. Of numba-dpex's own wheel only its folder of tests is used, which
``NUMBA_DPEX_TESTS`` names.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Any

from numba.core import config as numba_config, types

from ishmem import dpex

TESTS = "NUMBA_DPEX_TESTS"
"""The variable that names the folder in which ``numba_dpex/tests`` stands."""

HELD = dpex.HAS_NUMBA_DPEX
"""Whether the real numba-dpex is installed; read before the alias hides the answer."""


class Settings:
    """Settings of numba-dpex that the tests read."""

    INLINE_THRESHOLD = None
    TESTING_SKIP_NO_DEBUGGING = True
    DUMP_KERNEL_LLVM = False


def _own(name: str) -> ModuleType:
    return importlib.import_module(f"{dpex.__name__}.{name}")


def dpjit(*_arguments: Any, **_options: Any) -> Any:
    """Stand in for ``numba_dpex.dpjit``, which `ishmem.dpex` does not have."""

    def refuse(*_given: Any, **_named: Any) -> Any:
        raise NotImplementedError("ishmem.dpex has no dpjit")

    return refuse


def modules() -> dict[str, dict[str, Any]]:
    """Return the names that the tests import, by module."""
    kinds, errors, target = _own("compile.types"), _own("errors"), _own("compile.target")
    numbers = {name: getattr(types, name) for name in ("int32", "int64", "float32", "float64")}
    own = {name: getattr(dpex, name) for name in dpex.__all__}
    return {
        "": {**own, **numbers, "usm_ndarray": kinds.USMNdArray, "config": Settings, "dpjit": dpjit},
        "core": {"config": Settings},
        "core.descriptor": {"dpex_kernel_target": target.target},
        "core.exceptions": vars(errors),
        "core.runtime": {},
        "core.runtime.context": {"DpexRTContext": None},
        "core.targets": {},
        "core.targets.dpjit_target": {"DPEX_TARGET_NAME": "cpu"},
        "core.types": {},
        "core.types.kernel_api": {},
        "core.types.kernel_api.index_space_ids": vars(kinds),
        "kernel_api_impl": {},
        "kernel_api_impl.spirv": {},
        "kernel_api_impl.spirv.target": {"SPIRV_TARGET_NAME": target.TARGET},
    }


def install() -> None:
    """Put the modules into ``sys.modules``, and `dpnp.tensor` in place of ``dpctl.tensor``."""
    import dpctl
    import dpnp.tensor

    sys.modules["dpctl.tensor"] = dpctl.tensor = dpnp.tensor
    sys.modules["numba_dpex.kernel_api"] = dpex.kernel_api
    numba_config.CAPTURED_ERRORS = "new_style"  # an option of older versions of numba
    for name, members in modules().items():
        module = ModuleType(f"numba_dpex.{name}".rstrip("."))
        module.__path__ = []
        vars(module).update((key, value) for key, value in members.items() if not key.startswith("__"))
        sys.modules[module.__name__] = module
    sys.modules["numba_dpex"].__path__ = [os.path.join(os.environ[TESTS], "numba_dpex")]


if not HELD:
    install()
