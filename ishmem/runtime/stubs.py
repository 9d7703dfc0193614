"""Host names of routines that only kernels call."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def kernel_only(function: F) -> F:
    """Make a function that raises on the host and says that only kernels may call it."""

    @functools.wraps(function)
    def refuse(*_arguments: Any, **_keywords: Any) -> Any:
        raise TypeError(f"ishmem.{function.__name__} is called inside numba_dpex kernels only")

    refuse.kernel_only = True  # type: ignore[attr-defined]
    return refuse  # type: ignore[return-value]
