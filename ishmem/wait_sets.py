"""Waiting for and testing sets of symmetric variables of this PE: all, any or some of them.

The same names work on the host and in kernels. The variables ``ivars``
are a symmetric 1-D array or a slice of one with a positive step. The wait set is those whose ``status``, an element of
a dpnp or numpy array of integers or bools, is zero; by default all. An empty set is satisfied at once. ``cmp_value`` is
one value for all variables; the ``_vector`` forms take ``cmp_values``, an array of the dtype of ``ivars`` with a value
for each.

What the PE that updated a variable stored before the update, with a fence between, is visible once the new value has
been seen. None is collective. Waits block; the processor is yielded between polls of the set. ``timeout`` is in
seconds.

All raise ``StateError`` outside ``init`` to ``finalize``, ``SymmetryError`` for an array that is not on the symmetric
heap, ``TypeError`` for a dtype or value that cannot be waited for, ``ValueError`` for a value that does not fit, an
unknown comparison or arrays of different lengths. Waits raise ``WaitTimeout`` after the timeout, which names a
variable, its value and the comparison, and ``PeerLost`` when a PE has died, as the values may never come.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Callable, TypeVar

import numpy as np

from ishmem import _core, wait
from ishmem.common.errors import IshmemError
from ishmem.common.routines import exported
from ishmem.common.type_tables import STANDARD, STATUS_TYPES, WAIT_TYPES
from ishmem.runtime import check, docstrings, host_copies, job
from ishmem.runtime.stubs import work_group_form

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = exported(__name__)

F = TypeVar("F", bound=Callable[..., Any])


class Mode(IntEnum):
    """What a call looks for; the numbers of ``Mode`` in ``ishmem/core/operations.hpp``."""

    ALL = 0
    ANY = 1
    SOME = 2


_ARGUMENTS = {
    "ivars": "Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this PE's "
    "own copy is read.",
    "indices": "A dpnp or numpy array of int32, int64, uint32 or uint64, as long as ``ivars``.",
    "cmp": "``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.",
    "cmp_value": "A number that the dtype can hold, for all variables.",
    "cmp_values": "A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.",
    "status": "A dpnp or numpy array of integers or bools, nonzero for variables that are not in the wait set; by "
    "default all are.",
    "timeout": "Seconds; by default ``ISHMEM_TIMEOUT``, or no limit.",
}


def _of_set(section: str) -> Callable[[F], F]:
    """Return a decorator that completes a docstring; ``section`` is that of OpenSHMEM on the routine."""

    def decorate(form: F) -> F:
        name = form.__name__
        is_all, is_vector = "_all" in name, name.endswith("_vector")
        wanted = "np.ones(3, 'i8')" if is_all else "np.array([1, 2, 1])"
        call = f">>> ishmem.{name}(flags, {'indices, ' * ('_some' in name)}ishmem.CMP_EQ, {wanted if is_vector else 1})"
        example = [">>> flags = ishmem.ones(3, dtype='i8')"]
        if is_all:
            example += [call, *["True"] * name.startswith("test")]
        elif "_any" in name:
            example += [f"{call} in {(0, 2) if is_vector else (0, 1, 2)}", "True"]
        else:
            example += [">>> indices = np.empty(3, 'i8')", call, "2" if is_vector else "3"]
        source = f"OpenSHMEM 1.5, {section} (shmem_{name}); ishmem_{name}"
        return docstrings.completed(form, _ARGUMENTS, "\n".join(example), source)

    return decorate


@_of_set("9.10.2")
def wait_until_all(ivars: ndarray, cmp: int, cmp_value: Any, status: Any = None, timeout: float | None = None) -> None:
    """Wait until all variables of the wait set satisfy the comparison with ``cmp_value``.

    Returns at once for an empty set. Not collective, blocking.
    """
    _wait("wait_until_all", Mode.ALL, ivars, cmp, cmp_value, status, timeout)


@_of_set("9.10.3")
def wait_until_any(ivars: ndarray, cmp: int, cmp_value: Any, status: Any = None, timeout: float | None = None) -> int:
    """Wait until any variable of the wait set satisfies the comparison with ``cmp_value``; return its index.

    Which of several is unspecified, but repeated calls return each of them eventually. Returns -1 at once for an empty
    set. Not collective, blocking.
    """
    return _wait("wait_until_any", Mode.ANY, ivars, cmp, cmp_value, status, timeout)


@_of_set("9.10.4")
def wait_until_some(
    ivars: ndarray, indices: Any, cmp: int, cmp_value: Any, status: Any = None, timeout: float | None = None
) -> int:
    """Wait until at least one variable of the wait set satisfies the comparison with ``cmp_value``; return how many do.

    Their indices are stored at the start of ``indices``, an integer array as long as ``ivars``. Returns 0 at once for
    an empty set. Not collective, blocking.
    """
    return _wait("wait_until_some", Mode.SOME, ivars, cmp, cmp_value, status, timeout, indices)


@_of_set("9.10.5")
def wait_until_all_vector(
    ivars: ndarray, cmp: int, cmp_values: Any, status: Any = None, timeout: float | None = None
) -> None:
    """Wait until every ``ivars[i]`` of the wait set satisfies the comparison with ``cmp_values[i]``.

    Returns at once for an empty set. Not collective, blocking.
    """
    _wait("wait_until_all_vector", Mode.ALL, ivars, cmp, cmp_values, status, timeout)


@_of_set("9.10.6")
def wait_until_any_vector(
    ivars: ndarray, cmp: int, cmp_values: Any, status: Any = None, timeout: float | None = None
) -> int:
    """Wait until any ``ivars[i]`` of the wait set satisfies the comparison with ``cmp_values[i]``; return its index.

    Which of several is unspecified, but repeated calls return each of them eventually. Returns -1 at once for an empty
    set. Not collective, blocking.
    """
    return _wait("wait_until_any_vector", Mode.ANY, ivars, cmp, cmp_values, status, timeout)


@_of_set("9.10.7")
def wait_until_some_vector(
    ivars: ndarray, indices: Any, cmp: int, cmp_values: Any, status: Any = None, timeout: float | None = None
) -> int:
    """Wait until at least one ``ivars[i]`` satisfies the comparison with ``cmp_values[i]``; return how many do.

    Their indices are stored at the start of ``indices``, an integer array as long as ``ivars``. Returns 0 at once for
    an empty set. Not collective, blocking.
    """
    return _wait("wait_until_some_vector", Mode.SOME, ivars, cmp, cmp_values, status, timeout, indices)


@_of_set("9.10.9")
def test_all(ivars: ndarray, cmp: int, cmp_value: Any, status: Any = None) -> bool:
    """Return whether all variables of the wait set satisfy the comparison with ``cmp_value``.

    True for an empty set. Not collective, not blocking.
    """
    return bool(_test("test_all", Mode.ALL, ivars, cmp, cmp_value, status))


@_of_set("9.10.10")
def test_any(ivars: ndarray, cmp: int, cmp_value: Any, status: Any = None) -> int:
    """Return the index of any variable of the wait set that satisfies the comparison with ``cmp_value``, or -1.

    Which of several is unspecified, but repeated calls return each of them eventually. Not collective, not blocking.
    """
    return _test("test_any", Mode.ANY, ivars, cmp, cmp_value, status)


@_of_set("9.10.11")
def test_some(ivars: ndarray, indices: Any, cmp: int, cmp_value: Any, status: Any = None) -> int:
    """Return how many variables of the wait set satisfy the comparison with ``cmp_value``.

    Their indices are stored at the start of ``indices``, an integer array as long as ``ivars``. Not collective, not
    blocking.
    """
    return _test("test_some", Mode.SOME, ivars, cmp, cmp_value, status, indices)


@_of_set("9.10.12")
def test_all_vector(ivars: ndarray, cmp: int, cmp_values: Any, status: Any = None) -> bool:
    """Return whether every ``ivars[i]`` of the wait set satisfies the comparison with ``cmp_values[i]``.

    True for an empty set. Not collective, not blocking.
    """
    return bool(_test("test_all_vector", Mode.ALL, ivars, cmp, cmp_values, status))


@_of_set("9.10.13")
def test_any_vector(ivars: ndarray, cmp: int, cmp_values: Any, status: Any = None) -> int:
    """Return the index of any ``ivars[i]`` of the wait set that satisfies the comparison with ``cmp_values[i]``, or -1.

    Which of several is unspecified, but repeated calls return each of them eventually. Not collective, not blocking.
    """
    return _test("test_any_vector", Mode.ANY, ivars, cmp, cmp_values, status)


@_of_set("9.10.14")
def test_some_vector(ivars: ndarray, indices: Any, cmp: int, cmp_values: Any, status: Any = None) -> int:
    """Return how many ``ivars[i]`` of the wait set satisfy the comparison with ``cmp_values[i]``.

    Their indices are stored at the start of ``indices``, an integer array as long as ``ivars``. Not collective, not
    blocking.
    """
    return _test("test_some_vector", Mode.SOME, ivars, cmp, cmp_values, status, indices)


wait_until_all_work_group = work_group_form(wait_until_all)
wait_until_any_work_group = work_group_form(wait_until_any)
wait_until_some_work_group = work_group_form(wait_until_some)
wait_until_all_vector_work_group = work_group_form(wait_until_all_vector)
wait_until_any_vector_work_group = work_group_form(wait_until_any_vector)
wait_until_some_vector_work_group = work_group_form(wait_until_some_vector)
test_all_work_group = work_group_form(test_all)
test_any_work_group = work_group_form(test_any)
test_some_work_group = work_group_form(test_some)
test_all_vector_work_group = work_group_form(test_all_vector)
test_any_vector_work_group = work_group_form(test_any_vector)
test_some_vector_work_group = work_group_form(test_some_vector)


def _wait(
    routine: str, mode: Mode, ivars: Any, cmp: Any, wanted: Any, status: Any, timeout: Any, indices: Any = None
) -> int:
    """Wait, and return the result of the mode."""
    found, outcome, count, seen = _look(routine, mode, ivars, cmp, wanted, status, indices, False, timeout)
    if outcome != _core.SATISFIED:
        first = int(found[0])
        value = host_copies.to_host(wanted).flat[first] if routine.endswith("_vector") else wanted
        which = "" if mode is Mode.ALL else "no element holds, and "
        wait.give_up(routine, outcome, f"{which}element {first} is {seen}", cmp, value, timeout)
    return _result(mode, found, count, indices)


def _test(routine: str, mode: Mode, ivars: Any, cmp: Any, wanted: Any, status: Any, indices: Any = None) -> int:
    """Poll the set once, and return the result of the mode."""
    found, outcome, count, _seen = _look(routine, mode, ivars, cmp, wanted, status, indices, True, None)
    if mode is Mode.ALL:
        return int(outcome == _core.SATISFIED)
    return _result(mode, found, count, indices)


def _result(mode: Mode, found: np.ndarray[Any, Any], count: int, indices: Any) -> int:
    if mode is Mode.ANY:
        return int(found[0]) if count else -1
    if mode is Mode.SOME and count:
        host_copies.write(indices, found[:count])
    return count


def _look(
    routine: str, mode: Mode, ivars: Any, cmp: Any, wanted: Any, status: Any, indices: Any, once: bool, timeout: Any
) -> tuple[np.ndarray[Any, Any], int, int, Any]:
    """Check the arguments and let the core poll the set; return what it found."""
    this = job.current()
    array = check.view(ivars, "ivars", WAIT_TYPES, routine)
    _check_step(array)
    wait.check_cmp(cmp)
    values = _values(routine, ivars, array, wanted)
    ignored = None if status is None else _mask(routine, array, status)
    if mode is Mode.SOME:
        _check_indices(routine, array, indices)
    found = np.empty(array.count + 1, np.int64)
    limit = check.seconds(timeout)
    result = _core.wait_set(array.array, cmp, values, ignored, found, int(mode), once, limit)
    if result is NotImplemented:
        check.symmetric(array)
        raise IshmemError(f"{routine} on PE {this.pe} cannot handle ivars={ivars!r}, status={status!r}")
    return (found, *result)


def _check_step(array: check.View) -> None:
    """Check that an array is 1-D with a positive stride."""
    if len(array.shape) != 1:
        raise ValueError(f"{array.name} has {len(array.shape)} dimensions; pass a 1-D array or slice")
    if array.count > 1 and array.strides[0] < 1:
        raise ValueError(f"{array.name} has the stride {array.strides[0]}; pass a slice with a positive step")


def _values(routine: str, ivars: Any, array: check.View, wanted: Any) -> np.ndarray[Any, Any]:
    """Return the value to compare with, or one for each variable, as the dtype of ``ivars``."""
    if not routine.endswith("_vector"):
        value: np.ndarray[Any, Any] = check.as_element(ivars, wanted)
        return value
    given = check.view(wanted, "cmp_values", WAIT_TYPES, routine)
    if given.dtype != array.dtype:
        raise TypeError(f"ivars has dtype {array.dtype} and cmp_values has dtype {given.dtype}; they must be equal")
    if given.count != array.count:
        raise ValueError(f"ivars has {array.count} elements and cmp_values has {given.count}; the counts must be equal")
    return np.resize(host_copies.to_host(wanted), max(array.count, 1))


def _mask(routine: str, array: check.View, status: Any) -> np.ndarray[Any, Any]:
    """Return which variables ``status`` excludes from the set."""
    given = check.view(status, "status", STATUS_TYPES, routine)
    if given.count != array.count:
        raise ValueError(f"ivars has {array.count} elements and status has {given.count}; the counts must be equal")
    return np.ascontiguousarray(host_copies.to_host(status).ravel() != 0)


def _check_indices(routine: str, array: check.View, indices: Any) -> None:
    given = check.view(indices, "indices", STANDARD, routine)
    check.writable(given)
    if given.count < array.count:
        raise ValueError(f"ivars has {array.count} elements and indices has {given.count}; it needs at least as many")
