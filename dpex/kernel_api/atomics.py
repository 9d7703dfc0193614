"""Atomic operations and fences, in plain Python; kernels have the same methods (``dpex.language.atomics``)."""

from __future__ import annotations

from typing import Any

from .enums import AddressSpace, MemoryOrder, MemoryScope


def atomic_fence(memory_order: int, memory_scope: int) -> None:
    """Order the memory accesses of this work-item before the fence against those after it; no effect in plain Python.

    Args:
        memory_order: The accesses that are ordered, a `MemoryOrder`; a literal in kernels.
        memory_scope: The work-items for which the order holds, a `MemoryScope`; a literal in kernels.
    """


class AtomicRef:
    """A reference to an element of an array, for atomic operations."""

    def __init__(
        self,
        ref: Any,
        index: Any,
        memory_order: int = MemoryOrder.RELAXED,
        memory_scope: int = MemoryScope.DEVICE,
        address_space: int | None = None,
    ):
        """Refer to an element.

        Args:
            ref: The array.
            index: An integer, or a tuple of them.
            memory_order: The `MemoryOrder` of all operations; a literal in kernels.
            memory_scope: The `MemoryScope` in which they are atomic and ordered; a literal in kernels.
            address_space: The `AddressSpace` of the array; by default that of its type.

        Raises:
            TypeError: ``ref`` is not an array.
        """
        if not hasattr(ref, "__getitem__"):
            raise TypeError(f"AtomicRef refers to an element of an array, got {type(ref).__name__}")
        self._memory_order, self._memory_scope = memory_order, memory_scope
        self._address_space = AddressSpace.GLOBAL if address_space is None else address_space
        self._ref, self._index = ref, index

    @property
    def ref(self) -> Any:
        """The value of the element."""
        return self._ref[self._index]

    def _update(self, value: Any) -> Any:
        old = self._ref[self._index].copy()
        self._ref[self._index] = value
        return old

    def fetch_add(self, val: Any) -> Any:
        """Add ``val`` to the element; return the old value."""
        return self._update(self.ref + val)

    def fetch_sub(self, val: Any) -> Any:
        """Subtract ``val`` from the element; return the old value."""
        return self._update(self.ref - val)

    def fetch_min(self, val: Any) -> Any:
        """Set the element to the minimum of it and ``val``; return the old value."""
        return self._update(min(self.ref, val))

    def fetch_max(self, val: Any) -> Any:
        """Set the element to the maximum of it and ``val``; return the old value."""
        return self._update(max(self.ref, val))

    def fetch_and(self, val: Any) -> Any:
        """Set the element to its bitwise AND with ``val``; return the old value."""
        return self._update(self.ref & val)

    def fetch_or(self, val: Any) -> Any:
        """Set the element to its bitwise OR with ``val``; return the old value."""
        return self._update(self.ref | val)

    def fetch_xor(self, val: Any) -> Any:
        """Set the element to its bitwise XOR with ``val``; return the old value."""
        return self._update(self.ref ^ val)

    def load(self) -> Any:
        """Return the value of the element."""
        return self.ref

    def store(self, val: Any) -> None:
        """Set the element to ``val``."""
        self._ref[self._index] = val

    def exchange(self, val: Any) -> Any:
        """Set the element to ``val``; return the old value."""
        return self._update(val)

    def compare_exchange(self, expected_ref: Any, desired: Any, expected_idx: int = 0) -> bool:
        """Set the element to ``desired`` if it equals ``expected_ref[expected_idx]``; else copy its value there.

        Returns:
            Whether the element was equal and has been set.
        """
        if self.ref == expected_ref[expected_idx]:
            self._ref[self._index] = desired
            return True
        expected_ref[expected_idx] = self.ref
        return False
