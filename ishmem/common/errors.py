"""The exceptions of ishmem; every message names what it got and what is allowed."""

from __future__ import annotations


class IshmemError(RuntimeError):
    """Base of every error that ishmem raises of its own."""


class StateError(IshmemError):
    """A call in the wrong state: before ``init``, after ``finalize``, or either of them twice."""


class SymmetryError(IshmemError):
    """An address that is not on the symmetric heap, or PEs that disagree in a collective call."""


class HeapExhausted(IshmemError, MemoryError):
    """A symmetric allocation that does not fit: asked, used, free, and the variable to raise."""


class PeerLost(IshmemError):
    """A PE that this PE needs has died or has left the job.

    Attributes:
        pe: Number of the lost PE.
    """

    def __init__(self, message: str, pe: int) -> None:
        super().__init__(message)
        self.pe = pe


class WaitTimeout(IshmemError, TimeoutError):
    """A host wait whose ``timeout`` is over: PE, element, value seen and value wanted."""


_LOST = 0x70000001


class LevelZeroError(IshmemError):
    """A Level Zero call that failed; with ``ZE_RESULT_ERROR_DEVICE_LOST`` all later ones on the device do, too.

    Attributes:
        call: Name of the call, such as ``zeMemOpenIpcHandle``.
        code: The ``ze_result_t`` value.
        result: Its symbolic name, such as ``ZE_RESULT_ERROR_DEVICE_LOST``.
    """

    def __init__(self, call: str, code: int, result: str) -> None:
        lost = "; a kernel or copy has failed, and this process can use the device no more" if code == _LOST else ""
        super().__init__(f"{call} failed: {result} ({code:#x}){lost}")
        self.call = call
        self.code = code
        self.result = result
