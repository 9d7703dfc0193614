"""What is baked into kernels when they are compiled: facts of this process between init and finalize."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numba.core.errors import TypingError

if TYPE_CHECKING:
    from ishmem.layout import Layout


@dataclass(frozen=True)
class State:
    """Constants of compiled kernels; anything that keeps kernels longer must have them in its key.

    Device code takes ``heap`` and ``pe``, which differ from PE to PE, from `heap_base` and `this_pe` of
    `kernels.intrinsics` only: what they emit can be given other values in a kernel that is compiled already.

    Attributes:
        heap: Device address of this PE's heap.
        size: Bytes of the heap.
        check: Whether operations check their arguments.
    """

    heap: int
    size: int
    layout: Layout
    pe: int
    n_pes: int
    check: bool = False


_state: State | None = None


def bind(state: State | None) -> None:
    """Set the state of kernels that are compiled from now on."""
    global _state
    _state = state


def current() -> State:
    """Return the state to compile with.

    Raises:
        TypingError: Not between ``init`` and ``finalize``.
    """
    if _state is None:
        raise TypingError("a kernel that uses ishmem was compiled outside ishmem.init() to ishmem.finalize()")
    return _state
