"""Emits reports of errors inside kernels with their line of the program, by `Extension.report`.

A kernel cannot raise: an exception ends its work-item. An array access out of bounds, where it is checked, is skipped,
and the work-item continues, so that others do not wait for it at a barrier.
"""

from __future__ import annotations

from typing import Any

from numba.core.callconv import MinimalCallConv

from ..extension import KernelFailure, SourceLine, installed


def set_place(builder: Any, place: SourceLine | None) -> None:
    """Set ``place``, the line of the program for which a builder emits code; ``None``: failures are not reported."""
    builder.dpex_place = place


def place_of(builder: Any) -> SourceLine | None:
    """Return the line of the program for which a builder emits code, or ``None`` if failures are not reported."""
    return getattr(builder, "dpex_place", None)


def report_index(context: Any, builder: Any, index: Any, axis: int, shape: tuple[Any, ...]) -> None:
    """Emit the report of an index out of bounds, if the builder has a line set by `set_place`.

    Args:
        context: The target context.
        builder: The builder, in a block that runs if the index is out of bounds.
        index: The index, an LLVM value of type int64.
        axis: The dimension of the index.
        shape: The extents of the array, LLVM values of type int64.
    """
    place = place_of(builder)
    if place:
        text = f"index is out of bounds for axis {axis}"
        installed().report(context, builder, KernelFailure(place, IndexError, text, index, axis, shape))


class CallConvention(MinimalCallConv):  # type: ignore[misc]
    """numba's minimal call convention: functions return a status, and their value through the first parameter."""

    def return_user_exc(
        self, builder: Any, exc: Any, exc_args: Any = None, loc: Any = None, func_name: Any = None
    ) -> None:
        """Emit the raise of exception ``exc`` with ``exc_args``, and its report if the line of ``builder`` is known."""
        place = place_of(builder)
        if place:
            text = ", ".join(map(str, exc_args or ()))
            installed().report(self.context, builder, KernelFailure(place, exc or RuntimeError, text))
        super().return_user_exc(builder, exc, exc_args, loc, func_name)

    def return_status_propagate(self, builder: Any, status: Any) -> None:
        """Emit the return of a function whose callee has ended by an exception; record the call's line if it is set."""
        place = place_of(builder)
        if place:
            installed().record_place(self.context, builder, place)
        super().return_status_propagate(builder, status)

    def return_dynamic_user_exc(
        self, builder: Any, exc: Any, _exc_args: Any, _kinds: Any, loc: Any = None, func_name: Any = None
    ) -> None:
        """Emit the return of a function by exception ``exc``, whose arguments, computed at run time, are dropped."""
        self.return_user_exc(builder, exc, None, loc, func_name)
