"""Errors inside kernels, at their line of the program: an extension may report them, as in `Extension.report`.

A kernel cannot raise: an exception ends its work-item. An access to an array that is checked and is out of bounds is
left out, and the work-item goes on, so that others do not wait for it at a barrier.
"""

from __future__ import annotations

from typing import Any

from numba.core.callconv import MinimalCallConv

from ..extension import KernelFailure, SourceLine, installed


def set_place(builder: Any, place: SourceLine | None) -> None:
    """Set the line of the program that a builder emits code for; ``None`` where failures are not reported."""
    builder.dpex_place = place


def place_of(builder: Any) -> SourceLine | None:
    """Return the line of the program that a builder emits code for, or ``None`` if failures are not reported."""
    return getattr(builder, "dpex_place", None)


def report_index(context: Any, builder: Any, index: Any, axis: int, shape: tuple[Any, ...]) -> None:
    """Emit the report of an index out of bounds, where failures are reported.

    Args:
        context: The target context.
        builder: The builder, in a block that runs if the index is out of bounds.
        index: The index, an int64.
        axis: The dimension that it belongs to.
        shape: The extents of the array.
    """
    place = place_of(builder)
    if place:
        text = f"index is out of bounds for axis {axis}"
        installed().report(context, builder, KernelFailure(place, IndexError, text, index, axis, shape))


class CallConvention(MinimalCallConv):  # type: ignore[misc]
    """A status as the result of a function, and a pointer to its value as first parameter."""

    def return_user_exc(
        self, builder: Any, exc: Any, exc_args: Any = None, loc: Any = None, func_name: Any = None
    ) -> None:
        """Emit the end of a function by an exception."""
        place = place_of(builder)
        if place:
            text = ", ".join(map(str, exc_args or ()))
            installed().report(self.context, builder, KernelFailure(place, exc or RuntimeError, text))
        super().return_user_exc(builder, exc, exc_args, loc, func_name)

    def return_status_propagate(self, builder: Any, status: Any) -> None:
        """Emit the end of a function in which a called function has ended by an exception."""
        place = place_of(builder)
        if place:
            installed().record_place(self.context, builder, place)
        super().return_status_propagate(builder, status)

    def return_dynamic_user_exc(
        self, builder: Any, exc: Any, _exc_args: Any, _kinds: Any, loc: Any = None, func_name: Any = None
    ) -> None:
        """Emit the end of a function by an exception whose arguments are known at run time only; they are dropped."""
        self.return_user_exc(builder, exc, None, loc, func_name)
