"""Late delivery: ``ISHMEM_SIM_ORDER=late:SEED`` reveals programs that lack a fence, a quiet, a wait or a barrier.

The core (``ishmem/core/late_delivery.hpp``) delays operations where OpenSHMEM allows it. This module starts the delays
and describes the changed sources and reordered operations that the core reports.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import numpy as np

from ishmem import _core
from ishmem.common import callsite
from ishmem.common.errors import IshmemError

if TYPE_CHECKING:
    from ishmem.runtime.heap import SymmetricHeap

ADVICE = "operations came late or in another order (ISHMEM_SIM_ORDER); a fence, quiet, wait or barrier may be missing"


def seed_of(setting: str | None) -> int | None:
    """Return the seed in the setting ``late:SEED``, 0 for ``late``; None without a setting."""
    return None if setting is None else int(setting.partition(":")[2] or 0)


def reseed(seed: int) -> None:
    """Continue with another seed. Not collective; call it on every PE, after a barrier."""
    _core.reseed_late(seed)


class Late:
    """The operations of this PE that late delivery holds."""

    def __init__(self, heap: SymmetricHeap, seed: int) -> None:
        """Start holding operations, for times that depend on ``seed``."""
        self._heap = heap
        _core.start_late(seed, _place)

    def raise_changed(self) -> None:
        """Raise if the source buffer of a nonblocking put was changed before local completion.

        Raises:
            IshmemError: A source was changed; the text names the puts.
        """
        if found := _core.late_changed():
            puts = "; ".join(self._words(line) for line in found)
            raise IshmemError(f"{puts}: its source has changed before the next quiet or flush, its local completion")

    def close(self, failed: bool) -> None:
        """Stop holding operations; if the job has failed, print which operations overtook others."""
        notes = _core.late_notes() if failed else []
        _core.stop_late()
        if notes:
            lines = [f"PE {self._heap.pe}: {ADVICE}", *(f"  {self._words(note)}" for note in notes)]
            print("\n".join(lines), file=sys.stderr, flush=True)

    def _words(self, line: str) -> str:
        """Describe a line of the core: call, PE, offset and bytes, each followed by a tab, and other text."""
        parts, text = line.split("\t"), ""
        while len(parts) > 4:
            before, pe, place, nbytes, *parts = parts
            text += f"{before} to PE {pe}, {self._elements(int(place), int(nbytes))},"
        return (text + parts[0]).rstrip(",")

    def _elements(self, place: int, nbytes: int) -> str:
        """Return a description of the elements at an offset of the heap, and of their allocation."""
        for each in self._heap.allocator.live.values():
            if 0 <= place - each.offset < each.reserved:
                dtype = re.search(r"dtype (\w+)", each.what)
                item = np.dtype(dtype[1]).itemsize if dtype else 1
                first, last = ((place - each.offset + more) // item for more in (0, nbytes - 1))
                which = f"element {first}" if first == last else f"elements {first} to {last}"
                return f"{which if dtype else which.replace('element', 'byte')} of the array from {each.where}"
        where = f"at offset {place} of the heap" if place < self._heap.size else "of a static object"
        return f"{nbytes} bytes {where}"


def _place(routine: str) -> str:
    """Return the name of a routine and the line of the program that calls it."""
    where = callsite.describe(call for call in callsite.of_frame(sys._getframe(1)) if call.is_users)
    return f"{routine} at {where}"
