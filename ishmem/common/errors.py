"""The exceptions of ishmem. Every message names what it got and what is allowed."""

from __future__ import annotations

from typing import Any

SAME_CALLS = "all members of a team make the same collective calls in the same order"
"""The rule that PEs in different collective calls break."""


class IshmemError(RuntimeError):
    """Base class of all errors that only ishmem raises. They can be pickled and copied."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[BaseException], args: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    """Return an error of class ``kind`` from pickled state, without its constructor, which has other parameters."""
    made_by = kind
    while made_by.__module__ != "builtins":
        made_by = made_by.__base__  # type: ignore[assignment]  # the class that determines the layout in memory
    error = made_by.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


class StateError(IshmemError):
    """A call outside ``init`` to ``finalize``, or one that its object does not allow now, as it was destroyed."""


class SymmetryError(IshmemError):
    """An array that is not on the symmetric heap, or PEs whose collective calls or their arguments differ."""


class HeapExhausted(IshmemError, MemoryError):
    """A symmetric allocation that does not fit; the message gives sizes and the variable to raise."""


class PeerLost(IshmemError):
    """A PE that a call needs has died or left the job.

    Attributes:
        pe: Number of the lost PE.
    """

    def __init__(self, message: str, pe: int) -> None:
        super().__init__(message)
        self.pe = pe


class WaitTimeout(IshmemError, TimeoutError):
    """A wait has reached its ``timeout``, or a wait or kernel ``ISHMEM_TIMEOUT``; the message says what is awaited."""


_LOST = 0x70000001


class LevelZeroError(IshmemError):
    """A Level Zero call failed. After ``ZE_RESULT_ERROR_DEVICE_LOST`` all later calls on the device fail too.

    Attributes:
        call: Name of the call, such as ``zeMemOpenIpcHandle``.
        code: The ``ze_result_t`` value.
        result: Its symbolic name, such as ``ZE_RESULT_ERROR_DEVICE_LOST``.
        brief: The message without the name of the device.
    """

    def __init__(self, call: str, code: int, result: str, details: str = "", device: str = "") -> None:
        lost = "; a kernel or copy failed, and this process cannot use the device any more" if code == _LOST else ""
        self.brief = f"{call} failed: {result} ({code:#x}){lost}{details}"
        super().__init__(self.brief + f"; on {device}" * bool(device))
        self.call = call
        self.code = code
        self.result = result
