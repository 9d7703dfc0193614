"""Detection of arrays of freed allocations, even where another allocation now has the same addresses.

dpctl references the object that an array's memory was made from; so do slices, reshaped views and memory that is made
from this memory. As long as the program references such memory of a freed allocation, the core refuses it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ishmem import _core
from ishmem.common import callsite
from ishmem.common.errors import SymmetryError
from ishmem.runtime.allocator import Allocation

_UNUSED = 2
"""The reference count of an object that only its `Freed` references; one is that of the argument of getrefcount."""


@dataclass(frozen=True)
class Freed:
    """A freed allocation, where the program freed it, and the object from which the memory of its arrays was made."""

    origin: Any
    allocation: Allocation
    where: str


class FreedMemory:
    """The objects that own the memory of this PE's live allocations, and of freed ones that are still referenced."""

    def __init__(self) -> None:
        self._live: dict[int, Any] = {}
        self._freed: list[Freed] = []

    def add(self, allocation: Allocation, memory: Any) -> None:
        """Record the memory object of a new allocation."""
        self._live[allocation.offset] = memory.reference_obj
        if self._freed:
            self._tell()

    def free(self, allocation: Allocation) -> None:
        """Record that an allocation was freed by the program's current line; nothing if `add` was not called for it."""
        if allocation.offset in self._live:
            self._freed.append(Freed(self._live.pop(allocation.offset), allocation, callsite.caller()))
            self._tell()

    def refuse(self, array: Any, name: str) -> None:
        """Raise ``SymmetryError`` if an array is of a freed allocation; ``name`` describes it in the error."""
        number = _core.freed_of(array)
        if number >= 0:
            found = self._freed[number]
            made = f"{found.allocation.what}, from {found.allocation.where}"
            raise SymmetryError(f"{name} is not on the symmetric heap: it was freed at {found.where} ({made})")

    def refuse_arguments(self, kernel: str, arguments: Sequence[Any]) -> None:
        """Check that no argument of a launch is an array of a freed allocation; ``kernel`` is the kernel's name.

        Raises:
            SymmetryError: An array was freed.
        """
        for position, argument in enumerate(arguments if self._freed else (), 1):
            for each in argument if isinstance(argument, tuple) else (argument,):
                self.refuse(each, f"argument {position} of the kernel {kernel}")

    def clear(self) -> None:
        """Remove the records of all allocations, at the end of the job."""
        self._live.clear()
        self._freed.clear()
        self._tell()

    def _tell(self) -> None:
        """Pass to the core the freed allocations that the program still references; drop the others."""
        self._freed = [each for each in self._freed if sys.getrefcount(each.origin) > _UNUSED]
        places = [each.allocation for each in self._freed]
        ends = [place.offset + place.reserved for place in places]
        _core.set_freed([each.origin for each in self._freed], [place.offset for place in places], ends)
