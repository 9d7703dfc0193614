"""Programs with static host objects. With ``whole`` they are right; else the call in the first line is missing."""

from __future__ import annotations

import ishmem

from .arrays import SECONDS, Arrays, program, values


@program
def flag_in_static(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between data and a flag in static host objects."""
    box, flag = ishmem.static("order box", len(the.box), "i8"), ishmem.static("order flag", 1, "i8")
    box[:], flag[:] = 0, 0
    ishmem.barrier_all()
    ishmem.put(box, values(value), the.right)
    if whole:
        ishmem.fence()
    ishmem.p(flag, value, the.right)
    ishmem.wait_until(flag, ishmem.CMP_EQ, value, timeout=SECONDS)
    return the.has(box, value)


@program
def signal_in_static(the: Arrays, value: int, whole: bool) -> bool:
    """Fence between data and a signal of other data, all in static host objects."""
    box, signal = ishmem.static("order box", len(the.box), "i8"), ishmem.static("order signal", 1, "u8")
    box[:], signal[:] = 0, 0
    ishmem.barrier_all()
    ishmem.put(box[:4], values(value)[:4], the.right)
    if whole:
        ishmem.fence()
    ishmem.put_signal(box[4:], values(value)[4:], signal, value, ishmem.SIGNAL_SET, the.right)
    ishmem.signal_wait_until(signal, ishmem.CMP_EQ, value, timeout=SECONDS)
    return the.has(box, value)
