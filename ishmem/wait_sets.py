"""Waits for and tests of sets of symmetric variables of this PE: all, any or some of them.

The same names work on the host and in kernels. The variables ``ivars`` are a symmetric 1-D array or a slice of one with
a positive step. The wait set contains the variables whose element of ``status``, a dpnp or numpy array of integers or
bools, is zero; by default all. An empty set is satisfied at once. ``cmp_value`` is one value for all variables; the
``_vector`` forms take ``cmp_values``, an array of the dtype of ``ivars`` with a value for each variable.

Once a PE has read the new value of a variable, the stores that the updating PE ordered before its update by a fence are
visible. None is collective. Waits block and yield the processor between polls of the set. ``timeout`` is in seconds.

All raise ``StateError`` outside ``init`` to ``finalize``, ``SymmetryError`` for an array that is not on the symmetric
heap, ``TypeError`` for a dtype or value that waits do not support, ``ValueError`` for a value that does not fit, an
unknown comparison or arrays of different lengths. Waits raise ``WaitTimeout`` after the timeout, whose text has a
variable, its value and the comparison, and ``PeerLost`` if a PE has died, as the values may never arrive.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from ishmem import _core, wait
from ishmem.common import error_texts
from ishmem.common.routines import exported
from ishmem.common.shared_numbers import Mode, SetCode
from ishmem.common.type_tables import STANDARD, STATUS_TYPES, WAIT_TYPES
from ishmem.runtime import check, docstrings, host_copies, job
from ishmem.runtime.stubs import fast_path, named, renamed, work_group_forms

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = exported(__name__)

_ARGUMENTS = {
    "ivars": "Symmetric 1-D array of int32, int64, uint32 or uint64, or a slice of one with a positive step; this PE's "
    "own copy is read.",
    "indices": "A 1-D dpnp or numpy array of int32, int64, uint32 or uint64, at least as long as ``ivars``.",
    "cmp": "``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.",
    "cmp_value": "A number that the dtype can hold, for all variables.",
    "cmp_values": "A dpnp or numpy array of the dtype of ``ivars`` with a value for each variable.",
    "status": "A dpnp or numpy array of integers or bools, as long as ``ivars``: nonzero for variables that are not in "
    "the wait set; by default all are.",
    "timeout": "Largest time to wait in seconds; by default ``ISHMEM_TIMEOUT``, or no limit.",
}


_DOES = {
    "wait_until_all": (
        "Wait until every {one} satisfies the comparison with {value}.",
        "Returns at once for an empty set.",
    ),
    "wait_until_any": (
        "Wait until any {one} satisfies the comparison with {value}; return its index.",
        "Which of several is unspecified, but repeated calls return each of them eventually. Returns -1 at once for an "
        "empty set.",
    ),
    "wait_until_some": (
        "Wait until at least one {one} satisfies the comparison with {value}; return how many do.",
        "Their indices are stored at the start of ``indices``, the rest of which is unchanged. Returns 0 at once for "
        "an empty set.",
    ),
    "test_all": (
        "Return whether every {one} satisfies the comparison with {value}.",
        "True for an empty set.",
    ),
    "test_any": (
        "Return the index of any {one} that satisfies the comparison with {value}, or -1.",
        "Which of several is unspecified, but repeated calls return each of them eventually.",
    ),
    "test_some": (
        "Return how many {ones} satisfy the comparison with {value}.",
        "Their indices are stored at the start of ``indices``, the rest of which is unchanged.",
    ),
}
"""First line and details of the docstring of each routine."""
_WORDS = {
    "": {"one": "variable of the wait set", "ones": "variables of the wait set", "value": "``cmp_value``"},
    "_vector": {"one": "``ivars[i]`` of the set", "ones": "``ivars[i]`` of the set", "value": "``cmp_values[i]``"},
}


def _made(base: str, section: int, vector: str = "") -> Callable[..., Any]:
    """Return the public routine ``base + vector``, described by `_DOES` and by OpenSHMEM 1.5, 9.10.``section``."""
    name, waits, mode = base + vector, base.startswith("wait"), Mode[base.rpartition("_")[2].upper()]

    def wait(ivars: ndarray, cmp: int, cmp_value: Any, status: Any = None, timeout: float | None = None) -> Any:
        return _check_and_run(routine, ivars, cmp, cmp_value, status, None, check.seconds(timeout))

    def wait_some(
        ivars: ndarray, indices: Any, cmp: int, cmp_value: Any, status: Any = None, timeout: float | None = None
    ) -> Any:
        return _check_and_run(routine, ivars, cmp, cmp_value, status, indices, check.seconds(timeout))

    def test(ivars: ndarray, cmp: int, cmp_value: Any, status: Any = None) -> Any:
        return _check_and_run(routine, ivars, cmp, cmp_value, status, None)

    def test_some(ivars: ndarray, indices: Any, cmp: int, cmp_value: Any, status: Any = None) -> Any:
        return _check_and_run(routine, ivars, cmp, cmp_value, status, indices)

    some = mode is Mode.SOME
    form: Callable[..., Any] = (wait_some if some else wait) if waits else (test_some if some else test)
    form.__annotations__["return"] = "int" if mode is not Mode.ALL else "None" if waits else "bool"
    if vector:
        renamed(form, cmp_value="cmp_values")
    does, details = _DOES[base]
    details = textwrap.fill(
        f"{details} Not collective, {'' if waits else 'not '}blocking. Errors as for ``wait_until``, and "
        "``ValueError`` for arrays of different lengths.", docstrings.WIDTH,
    )  # fmt: skip
    text = f"{does.format(**_WORDS[vector])}\n\n{details}\n\n"
    text += docstrings.sections(form, _ARGUMENTS, _example(name, mode, vector))
    form = named(form, name, __name__, text, f"OpenSHMEM 1.5, 9.10.{section} (shmem_{name}); ishmem_{name}")
    routine = fast_path(_core.look_at_set(mode | SetCode.TEST * (not waits) | SetCode.VECTOR * bool(vector)))(form)
    return routine


def _example(name: str, mode: Mode, vector: str) -> str:
    """Return the lines of the docstring's example for routine ``name``."""
    is_all = mode is Mode.ALL
    wanted = ("np.ones(3, 'i8')" if is_all else "np.array([1, 2, 1])") if vector else "1"
    call = f">>> ishmem.{name}(flags, {'indices, ' * (mode is Mode.SOME)}ishmem.CMP_EQ, {wanted})"
    example = [">>> flags = ishmem.ones(3, dtype='i8')"]
    if is_all:
        example += [call, *["True"] * name.startswith("test")]
    elif mode is Mode.ANY:
        example += [f"{call} in {(0, 2) if vector else (0, 1, 2)}", "True"]
    else:
        example += [">>> indices = np.empty(3, 'i8')", call, "2" if vector else "3"]
    return "\n".join(example)


wait_until_all = _made("wait_until_all", 2)
wait_until_any = _made("wait_until_any", 3)
wait_until_some = _made("wait_until_some", 4)
wait_until_all_vector = _made("wait_until_all", 5, "_vector")
wait_until_any_vector = _made("wait_until_any", 6, "_vector")
wait_until_some_vector = _made("wait_until_some", 7, "_vector")
test_all = _made("test_all", 9)
test_any = _made("test_any", 10)
test_some = _made("test_some", 11)
test_all_vector = _made("test_all", 12, "_vector")
test_any_vector = _made("test_any", 13, "_vector")
test_some_vector = _made("test_some", 14, "_vector")
globals().update(work_group_forms(__name__))


def _check_and_run(
    routine: Any, ivars: Any, cmp: Any, wanted: Any, status: Any, indices: Any, *timeout: float | None
) -> Any:
    """Run a wait or test of a set that the core declined: raise the error, or pass the core arguments that it accepts.

    The arguments are those of the public routine ``routine``: ``wanted`` the value or values to compare with,
    ``indices`` None if it has none, ``timeout`` only for waits, checked already. Returns the result of the routine.
    """
    this, name = job.current(), routine.__name__
    array = check.view(ivars, "ivars", WAIT_TYPES, name)
    _check_step(array)
    wait.check_cmp(cmp)
    values = _values(name, ivars, array, wanted)
    ignored = None if status is None else _mask(name, array, status)
    found = []
    if indices is not None or "_some" in name:
        check_indices(name, array, indices)
        found.append(np.empty(array.count, np.int64))
    check.remote(array, this.pe)
    result = check.run_in_core(name, routine.core, array.array, *found, int(cmp), values, ignored, *timeout)
    if found and result:
        host_copies.write(indices, found[0][:result])
    return result


def _check_axes(array: check.View) -> None:
    if len(array.shape) != 1:
        raise ValueError(f"{array.name} has {len(array.shape)} dimensions; pass a 1-D array or slice")


def _check_step(array: check.View) -> None:
    """Check that an array is 1-D with a positive stride."""
    _check_axes(array)
    if array.count > 1 and array.strides[0] < 1:
        raise ValueError(f"{array.name} has the stride {array.strides[0]}; pass a slice with a positive step")


def _values(routine: str, ivars: Any, array: check.View, wanted: Any) -> Any:
    """Check ``wanted``; return it as a Python number, or for a ``_vector`` routine as a contiguous 1-D numpy array."""
    if not routine.endswith("_vector"):
        return check.as_element(ivars, wanted)[0].item()
    given = check.view(wanted, "cmp_values", WAIT_TYPES, routine)
    if given.dtype != array.dtype:
        raise TypeError(error_texts.unlike_dtypes("ivars", array.dtype, "cmp_values", given.dtype))
    if given.count != array.count:
        raise ValueError(error_texts.set_size("cmp_values", given.count, array.count))
    return np.ascontiguousarray(host_copies.to_host(wanted)).ravel()


def _mask(routine: str, array: check.View, status: Any) -> np.ndarray[Any, Any]:
    """Return an array of bool: whether ``status`` excludes a variable from the set."""
    given = check.view(status, "status", STATUS_TYPES, routine)
    if given.count != array.count:
        raise ValueError(error_texts.set_size("status", given.count, array.count))
    return np.ascontiguousarray(host_copies.to_host(status).ravel() != 0)


def check_indices(routine: str, array: check.View, indices: Any) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless ``indices`` is a writable array of integers as long as ``array``."""
    given = check.view(indices, "indices", STANDARD, routine)
    check.writable(given)
    _check_axes(given)
    if given.count < array.count:
        raise ValueError(error_texts.set_size("indices", given.count, array.count))
