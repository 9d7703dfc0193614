"""Checks of the argument types of device functions when a kernel is compiled; they raise ``TypingError``.

``routine`` and ``name`` are those of the routine and the argument in the text of the error; ``kind`` is its numba type.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from ishmem.common import error_texts
from ishmem.common.kernel_wait import WORDS
from ishmem.common.type_tables import HALVES, RMA_TYPES, movable
from ishmem.common.violations import OPTIONS

from .intrinsics import require
from .options import NO_WAITS


def absent(argument: Any) -> bool:
    """Return whether an optional argument was omitted or is ``None``."""
    return argument is None or isinstance(argument, (types.Omitted, types.NoneType))


def may_wait(routine: str) -> None:
    """Raise ``TypingError`` in a job whose PEs cannot run kernels at once, as ``routine`` waits for other PEs."""
    require(not NO_WAITS, f"{routine} in a kernel: {NO_WAITS}")


def call_site(routine: str, kind: Any) -> None:
    """Raise ``TypingError`` unless ``kind`` is the words that ``ishmem.kernels.call_sites`` passes, or absent."""
    fine = absent(kind) or (isinstance(kind, types.UniTuple) and kind.count == WORDS)
    require(fine, f"{routine}: too many arguments, the last one is {kind}")


def element_type(routine: str, name: str, kind: Any, allowed: tuple[str, ...] = RMA_TYPES) -> None:
    """Raise ``TypingError`` unless ``kind`` is an array of one of the ``allowed`` dtypes."""
    require(isinstance(kind, types.Array), f"{routine}: {name} is an array, got {kind}")
    dtype = str(kind.dtype)
    require(dtype in movable(allowed), error_texts.refusal(routine, name, dtype, allowed))


def array(routine: str, name: str, kind: Any, allowed: tuple[str, ...] = RMA_TYPES) -> None:
    """Raise ``TypingError`` unless ``kind`` is a contiguous or 1-D strided array of one of the ``allowed`` dtypes."""
    element_type(routine, name, kind, allowed)
    require(kind.layout in "CF" or (kind.ndim == 1 and kind.layout == "A"), f"{routine}: {name} is not contiguous")


def orders_differ(*arguments: Any) -> bool:
    """Return whether one array is in C order and another in Fortran order; 1-D arrays are in both."""
    return {kind.layout for kind in arguments if isinstance(kind, types.Array) and kind.ndim > 1} == {"C", "F"}


def contiguous(routine: str, **arrays: Any) -> None:
    """Raise ``TypingError`` unless all arrays are contiguous, and in the same memory order."""
    for name, kind in arrays.items():
        element_type(routine, name, kind)
        text = f"{routine}: {name} is not contiguous; put and get take strided 1-D slices and 2-D tiles, iput and iget"
        require(kind.layout in "CF", f"{text} take strides; other routines take a contiguous slice at a time")
    if orders_differ(*arrays.values()):
        differ = error_texts.unlike_orders({name: kind.layout == "C" for name, kind in arrays.items()})
        text = f"{routine}: {differ}; put and get take such arrays of two dimensions, other routines take one order"
        require(False, text)


def tiles(routine: str, nelems: Any, **arrays: Any) -> None:
    """Raise ``TypingError`` unless arrays are 2-D, not in Fortran order, and ``nelems`` is absent."""
    for name, kind in arrays.items():
        text = f"{routine}: {name} is {kind}; if an array is not contiguous, both are tiles, of 2 dimensions"
        require(kind.ndim == 2 and kind.layout != "F", f"{text} with rows of consecutive elements")
    require(absent(nelems), f"{routine}: {error_texts.TILES_WITH_NELEMS}")


def same_dtype(dest: Any, source: Any) -> None:
    """Raise ``TypingError`` unless two arrays have the same dtype."""
    require(dest.dtype == source.dtype, error_texts.unlike_dtypes("dest", dest.dtype, "source", source.dtype))


def numbers(routine: str, name: str, kind: Any, optional: bool) -> None:
    """Raise ``TypingError`` unless ``kind`` is a list of counts or displacements, or absent if ``optional``."""
    if optional and absent(kind):
        return
    fine = isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout in "CF" and kind.dtype == types.int64
    text = "a contiguous device array of int64 of one dimension, with a number for each PE of the team"
    require(fine, f"{routine}: {name} is {text}, got {kind}")


def integer(routine: str, name: str, kind: Any) -> None:
    """Raise ``TypingError`` unless ``kind`` is an integer, or an omitted argument with an integer default."""
    plain = isinstance(kind, (types.Integer, int)) or (isinstance(kind, types.Omitted) and isinstance(kind.value, int))
    require(plain, f"{routine}: {error_texts.no_integer(name, kind)}")


# A dtype accepts values of its own kind and of kinds with a lower number.
_WIDTH = {types.Boolean: 0, types.Integer: 1, types.Float: 2, types.Complex: 3}


def holds(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype can represent all values of an integer type; True for other kinds, which are converted."""
    if not isinstance(dtype, types.Integer) or not isinstance(kind, types.Integer):
        return True
    return bool(dtype.minval <= kind.minval and kind.maxval <= dtype.maxval)


def member(routine: str, name: str, kind: Any) -> None:
    """Raise ``TypingError`` unless ``kind`` is an integer or the type of the constants of argument ``name``."""
    constants = OPTIONS[name]
    fine = isinstance(kind, types.Integer) or getattr(kind, "instance_class", None) is constants
    require(fine, f"{routine}: {error_texts.no_member(name, constants, kind)}")


def _rank(kind: Any) -> int:
    return next((rank for family, rank in _WIDTH.items() if isinstance(kind, family)), 2 if str(kind) in HALVES else -1)


def value(routine: str, name: str, kind: Any, dtype: Any) -> None:
    """Raise ``TypingError`` unless ``kind`` is a number of the kind of ``dtype`` or a simpler one, as int for float."""
    fits = 0 <= _rank(kind) <= _rank(dtype)
    require(fits, f"{routine}: {error_texts.other_kind(name, kind, dtype)}")
