"""Refuses calls of host functions in kernels, with a better message than numba's: that it does not know them."""

from __future__ import annotations

from typing import Any, Callable

from numba.core.errors import TypingError
from numba.extending import overload

import ishmem

from .front_end import TARGET
from .intrinsics import registered

_ADVICE = {
    "ishmem.memory": "allocate and free on the host and pass the array to the kernel",
    "ishmem.setup": "call it on the host",
    "ishmem.on_queue": "on-queue routines are called on the host",
    "ishmem.collectives_on_queue": "on-queue routines are called on the host",
}


def register() -> None:
    """Register the refusal of all public functions without a device form."""
    for name in vars(ishmem)["__all__"]:
        function = getattr(ishmem, name)
        if callable(function) and not isinstance(function, type) and function not in registered:
            overload(function, target=TARGET)(_refusal(name, function))


def _refusal(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    module = getattr(function, "__module__", "")
    advice = _ADVICE.get(module, "call it on the host, or use a routine that docs/c-to-python.md lists for kernels")

    def refuse(*_arguments: Any, **_keywords: Any) -> Any:
        raise TypingError(f"ishmem.{name} is a host function and has no form for kernels; {advice}")

    return refuse
