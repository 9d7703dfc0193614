"""Atomic memory operations on one element of a symmetric array.

The same names work on the host and in kernels; operations of the host and of kernels are atomic to each other. The
dtypes of each routine are in its docstring.

None is collective. Fetching atomics block until they have the old value. ``quiet`` waits for remote completion of the
others. The ``_nbi`` forms store the old value in the first element of ``fetch``, read after ``quiet`` or ``flush``.

All raise ``StateError`` outside ``init`` to ``finalize``, ``SymmetryError`` for an array that is not on the symmetric
heap, ``IndexError`` for a PE or element that does not exist, ``TypeError`` for a dtype or value that the operation does
not take, ``ValueError`` for a value that does not fit the dtype, an unknown ``order``, an array that is not contiguous
or an empty or read-only ``fetch``, and ``PeerLost`` if the PE is lost.
"""

# The table `type_tables.ATOMICS` has the routines; `_atomic` and `_nbi` create them and their docstrings.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ishmem import _core
from ishmem.common import type_tables
from ishmem.common.constants import MemoryOrder
from ishmem.common.error_texts import no_member
from ishmem.common.routines import exported
from ishmem.common.shared_numbers import NO_RESULT
from ishmem.order import fence
from ishmem.runtime import check, docstrings, job
from ishmem.runtime.stubs import fast_path, named

if TYPE_CHECKING:
    from dpnp import ndarray

    from ishmem.common.indices import Index

__all__ = exported(__name__)

_BITS = {"int32": 5, "uint32": 6, "int64": 7, "uint64": 8, "float32": 11, "float64": 12}


def operation(row: type_tables.Atomic, types: tuple[str, ...]) -> Callable[..., Any]:
    """Return the core's function ``(array, *operands, pe, index[, order])`` for the atomic of ``row`` and ``types``.

    It returns the old value, or None if ``row`` does not fetch, and ``NotImplemented`` for arguments that it declines.
    """
    accepted = sum(1 << _BITS[dtype] for dtype in types)
    result = 0 if row.fetches else NO_RESULT
    return _core.atomic(int(row.rmw) | result | accepted << 8 | len(row.operands) << 24)


_OPERATIONS = {name: operation(row, row.types) for name, row in type_tables.ATOMICS.items()}
_FETCHING = {row.rmw: row.fetching for name, row in type_tables.ATOMICS.items() if not name.endswith("inc")}


def _run(name: str, target: Any, operands: tuple[Any, ...], pe: Any, index: Any, order: Any = 0) -> Any:
    """Run atomic ``name`` that the core declined for its arguments or memory order; return the old value or None."""
    if order or type(order) is not int:  # the core accepts only the int 0
        _release(order)
        old = _OPERATIONS[name](target, *operands, pe, index, 0)
        if old is not NotImplemented:
            return old
    row, number = type_tables.ATOMICS[name], check.pe(pe)
    array = check.view(target, "source" if name == "atomic_fetch" else "dest", row.types, name)
    check.element(array, index, number)
    values = [check.as_element(target, each)[0].item() for each in operands]
    return check.run_in_core(name, _OPERATIONS[name], array.array, *values, number, check.position(array, index), 0)


def by_kernel(rmw: int, target: Any, pe: Any, index: Any, value: Any, cond: Any) -> Any:
    """Run the atomic with `Rmw` number ``rmw`` on array ``target`` as a kernel; return the old value.

    The core, which calls this, has checked the arguments.
    """
    from ishmem.runtime.host_atomics import atomic_by_kernel  # imports dpnp

    name, array, given = _FETCHING[type_tables.Rmw(rmw)], check.view(target, "dest"), {"cond": cond, "value": value}
    operands = [check.as_element(target, given[operand]) for operand in type_tables.ATOMICS[name].operands]
    return atomic_by_kernel(globals()[name], array.array, int(pe), check.position(array, index), operands)


def _release(order: Any) -> None:
    """Call ``fence`` if memory order ``order`` includes release; raise ``ValueError`` for an unknown order.

    Acquire needs no call, as blocking atomics acquire.
    """
    if order not in list(MemoryOrder):
        raise ValueError(no_member("order", MemoryOrder, order))
    if order & MemoryOrder.RELEASE:
        fence()


def _run_nbi(name: str, fetch: Any, target: ndarray, operands: tuple[Any, ...], pe: int, index: Index) -> None:
    """Run fetching atomic ``name`` and store the old value in the first element of ``fetch``."""
    to = check.view(fetch, "fetch")
    check.writable(to)
    if not to.count:
        raise ValueError("fetch is empty; it must have at least one element")
    if _core.describe(target) is not None:
        check.same_dtype(check.view(target, "dest", routine=name), to)
    old = _OPERATIONS[name](target, *operands, pe, index, 0)
    if old is NotImplemented:
        old = _run(name, target, operands, pe, index)
    if _core.p(fetch, old, job.current().pe, 0) is NotImplemented:
        fetch[(0,) * fetch.ndim] = old


class _Words(NamedTuple):
    """Parts of the docstrings of an operation: ``does`` is the first line, without the part on the return value.

    ``update``, ``fetch`` and ``nbi`` are subsections of OpenSHMEM 1.5, 9.7.1 (9.7.2 for ``nbi``) on its forms, or 0;
    ``after`` is the value of the example's element after the call, if it was 5 before and the operand is 3.
    """

    does: str
    update: int = 0
    fetch: int = 0
    nbi: int = 0
    after: int = 0


_TO = "Set an element of ``dest`` on a PE to"
_WORDS = {
    "fetch": _Words("Return an element of ``source`` on a PE, read atomically", fetch=1, nbi=1),
    "set": _Words(f"{_TO} ``value``", update=2, after=3),
    "swap": _Words(f"{_TO} ``value``", fetch=4, nbi=3),
    "compare_swap": _Words(f"{_TO} ``value`` if it equals ``cond``", fetch=3, nbi=2),
    "inc": _Words("Add one to an element of ``dest`` on a PE", 6, 5, 4, 6),
    "add": _Words("Add ``value`` to an element of ``dest`` on a PE", 8, 7, 5, 8),
    "and": _Words(f"{_TO} its bitwise AND with ``value``", 10, 9, 6, 1),
    "or": _Words(f"{_TO} its bitwise OR with ``value``", 12, 11, 7, 7),
    "xor": _Words(f"{_TO} its bitwise XOR with ``value``", 14, 13, 8, 6),
    "min": _Words(f"{_TO} the minimum of it and ``value``, NaN if either is", after=3),
    "max": _Words(f"{_TO} the maximum of it and ``value``, NaN if either is", after=5),
}
_ARGUMENTS = {
    "fetch": "A dpnp or numpy array of the same dtype; the old value goes to its first element.",
    "cond": "The value that the element must have for the swap.",
    "value": "A number that the dtype can hold.",
    "pe": "Number of the PE, from 0 to ``n_pes() - 1``.",
    "index": "The element: a tuple of indices, or its number in C order (in Fortran order, if the array is in that).",
    "order": "``ORDER_RELAXED``, the default; ``ORDER_RELEASE``: earlier operations come before it, as by ``fence``; "
    "``ORDER_ACQUIRE``: later accesses of this PE come after it; or ``ORDER_ACQ_REL``: both.",
}
_GIVEN = {(): "", ("value",): "3, ", ("cond", "value"): "5, 9, "}  # the operands of the examples


def _atomic(name: str) -> Callable[..., Any]:
    """Return the public routine ``name`` of the table of atomics; it returns the old value if the atomic fetches."""

    def read(source: ndarray, pe: int, index: Index = 0, order: int = 0) -> Any:
        return _run(name, source, (), pe, index, order)

    def count(dest: ndarray, pe: int, index: Index = 0, order: int = 0) -> Any:
        return _run(name, dest, (), pe, index, order)

    def update(dest: ndarray, value: Any, pe: int, index: Index = 0, order: int = 0) -> Any:
        return _run(name, dest, (value,), pe, index, order)

    def compare(dest: ndarray, cond: Any, value: Any, pe: int, index: Index = 0, order: int = 0) -> Any:
        return _run(name, dest, (cond, value), pe, index, order)

    words, form = _words(name), _form_for(name, read, count, update, compare)
    if type_tables.ATOMICS[name].fetches:
        text = (
            f"{words.does}{'' if form is read else '; return the old value'}.\n\nNot collective, blocking. "
            "Errors as for ``p``; ``TypeError`` for another dtype, ``ValueError`` for an unknown ``order``."
        )
        made = _public(form, name, text, "{call}me)\n5", words.fetch)
    else:
        form.__annotations__["return"] = "None"
        text = (
            f"{words.does}.\n\nNot collective; ``quiet`` waits for remote completion. Errors as for ``p``;\n"
            "``TypeError`` for another dtype, ``ValueError`` for an unknown ``order``."
        )
        example = f"{{call}}right, index=1)\n>>> ishmem.barrier_all()\n>>> print(a)\n[5 {words.after}]"
        made = _public(form, name, text, example, words.update)
    return fast_path(_OPERATIONS[name])(made)


def _nbi(base: str) -> Callable[..., None]:
    """Return the public routine ``<base>_nbi``: fetching atomic ``base`` that stores the old value in ``fetch``."""

    def read(fetch: Any, source: ndarray, pe: int, index: Index = 0) -> None:
        _run_nbi(base, fetch, source, (), pe, index)

    def count(fetch: Any, dest: ndarray, pe: int, index: Index = 0) -> None:
        _run_nbi(base, fetch, dest, (), pe, index)

    def update(fetch: Any, dest: ndarray, value: Any, pe: int, index: Index = 0) -> None:
        _run_nbi(base, fetch, dest, (value,), pe, index)

    def compare(fetch: Any, dest: ndarray, cond: Any, value: Any, pe: int, index: Index = 0) -> None:
        _run_nbi(base, fetch, dest, (cond, value), pe, index)

    text = (
        f"Run ``{base}`` and store the old value in ``fetch``, to be read after the next ``quiet`` or ``flush``.\n\n"
        "Not collective. A nonblocking operation by its contract; the host form stores the value before it returns.\n"
        "Errors as for ``p``; ``TypeError`` for other dtypes, ``ValueError`` if ``fetch`` is empty or read-only."
    )
    example = "{call}me)\n>>> ishmem.quiet()\n>>> print(old)\n[5]"
    return _public(_form_for(base, read, count, update, compare), f"{base}_nbi", text, example, _words(base).nbi)


def _words(name: str) -> _Words:
    return _WORDS[name.replace("atomic_", "").removeprefix("fetch_")]


def _form_for(name: str, read: Any, count: Any, update: Any, compare: Any) -> Any:
    """Return ``read``, ``count``, ``update`` or ``compare``: the function with the operands of atomic ``name``."""
    row = type_tables.ATOMICS[name]
    return read if row.rmw is type_tables.Rmw.FETCH else (count, update, compare)[len(row.operands)]


def _public(form: Callable[..., Any], name: str, text: str, example: str, section: int) -> Callable[..., Any]:
    """Return ``form`` named ``name``, with a docstring of ``text``, arguments, ``example`` and OpenSHMEM section."""
    row, is_nbi = type_tables.ATOMICS[name.removesuffix("_nbi")], name.endswith("_nbi")
    array = f"Symmetric array of {', '.join(row.types[:-1])} or {row.types[-1]}."
    a = "ishmem.full(2, 5, dtype='i8')"
    made = f">>> a, old = {a}, np.empty(1, 'i8')" if is_nbi else f">>> a = {a}"
    call = f">>> ishmem.{name}({'old, ' * is_nbi}a, {_GIVEN[row.operands]}"
    arguments = {**_ARGUMENTS, "dest": array, "source": array}
    text += "\n\n" + docstrings.sections(form, arguments, f"{made}\n{example.format(call=call)}")
    standard = f"OpenSHMEM 1.5, 9.7.{1 + is_nbi}.{section} (shmem_{name}); ishmem_{name}"
    other = f"Iris (iris.{row.name.replace('fetch_', '')}); not in OpenSHMEM"
    return named(form, name, __name__, text, standard if section else other)


atomic_set = _atomic("atomic_set")
atomic_inc = _atomic("atomic_inc")
atomic_add = _atomic("atomic_add")
atomic_and = _atomic("atomic_and")
atomic_or = _atomic("atomic_or")
atomic_xor = _atomic("atomic_xor")
atomic_min = _atomic("atomic_min")
atomic_max = _atomic("atomic_max")
atomic_fetch = _atomic("atomic_fetch")
atomic_swap = _atomic("atomic_swap")
atomic_compare_swap = _atomic("atomic_compare_swap")
atomic_fetch_inc = _atomic("atomic_fetch_inc")
atomic_fetch_add = _atomic("atomic_fetch_add")
atomic_fetch_and = _atomic("atomic_fetch_and")
atomic_fetch_or = _atomic("atomic_fetch_or")
atomic_fetch_xor = _atomic("atomic_fetch_xor")
atomic_fetch_min = _atomic("atomic_fetch_min")
atomic_fetch_max = _atomic("atomic_fetch_max")
atomic_fetch_nbi = _nbi("atomic_fetch")
atomic_swap_nbi = _nbi("atomic_swap")
atomic_compare_swap_nbi = _nbi("atomic_compare_swap")
atomic_fetch_inc_nbi = _nbi("atomic_fetch_inc")
atomic_fetch_add_nbi = _nbi("atomic_fetch_add")
atomic_fetch_and_nbi = _nbi("atomic_fetch_and")
atomic_fetch_or_nbi = _nbi("atomic_fetch_or")
atomic_fetch_xor_nbi = _nbi("atomic_fetch_xor")
atomic_fetch_min_nbi = _nbi("atomic_fetch_min")
atomic_fetch_max_nbi = _nbi("atomic_fetch_max")
