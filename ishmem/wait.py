"""Waits for and tests of symmetric variables of this PE that other PEs update.

The same names work on the host and in kernels.
"""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, NoReturn

from ishmem import _core
from ishmem.common import error_texts
from ishmem.common.constants import SYMBOLS, Cmp
from ishmem.common.errors import WaitTimeout
from ishmem.common.routines import exported
from ishmem.common.shared_numbers import Mode
from ishmem.common.type_tables import WAIT_TYPES
from ishmem.runtime import check, job
from ishmem.runtime.docstrings import arguments_of
from ishmem.runtime.stubs import fast_path, work_group_forms

if TYPE_CHECKING:
    from dpnp import ndarray

    from ishmem.common.indices import Index

__all__ = exported(__name__)


@fast_path(_core.wait_until)
def wait_until(ivar: ndarray, cmp: int, cmp_value: Any, index: Index = 0, timeout: float | None = None) -> None:
    """Wait until element ``index`` of the symmetric array ``ivar`` satisfies the comparison with ``cmp_value``.

    With ``CMP_GE``, for example, until ``ivar[index] >= cmp_value``. Not collective, blocking; yields the processor
    between polls. Stores of the updating PE that a fence ordered before its update are visible afterwards.

    Args:
        ivar: Symmetric contiguous array of int32, int64, uint32 or uint64; this PE's own copy is read.
        cmp: ``CMP_EQ``, ``CMP_NE``, ``CMP_GT``, ``CMP_GE``, ``CMP_LT`` or ``CMP_LE``.
        cmp_value: A number that the dtype can hold.
        index: The element: a tuple of indices, or its number in C order (in Fortran order, if the array is in that).
        timeout: Largest time to wait in seconds, at least 0; by default ``ISHMEM_TIMEOUT``, or no limit.

    Raises:
        WaitTimeout: The timeout has expired (also a ``TimeoutError``).
        PeerLost: A PE died, so the value may never come.
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``ivar`` is not on the symmetric heap.
        IndexError: There is no such element.
        TypeError: A dtype or value that the routine does not support, or ``timeout`` is no number.
        ValueError: An unknown ``cmp``, a ``cmp_value`` that the dtype cannot hold, a negative ``timeout``, or ``ivar``
            is not contiguous.

    Example:
        >>> word = ishmem.zeros(1, dtype="i8")
        >>> ishmem.atomic_set(word, 1, right)
        >>> ishmem.wait_until(word, ishmem.CMP_EQ, 1, timeout=60)

    Source: OpenSHMEM 1.5, 9.10.1 (shmem_wait_until); ishmem_wait_until.
    """
    check_and_run(wait_until, "ivar", ivar, WAIT_TYPES, cmp, cmp_value, index, check.seconds(timeout))


@fast_path(_core.test)
@arguments_of(wait_until)
def test(ivar: ndarray, cmp: int, cmp_value: Any, index: Index = 0) -> bool:
    """Return whether element ``index`` of the symmetric array ``ivar`` satisfies the comparison with ``cmp_value``.

    Errors as for ``wait_until``. Not collective, not blocking.

    Example:
        >>> word = ishmem.zeros(1, dtype="i8")
        >>> ishmem.test(word, ishmem.CMP_EQ, 1)
        False

    Source: OpenSHMEM 1.5, 9.10.8 (shmem_test); ishmem_test.
    """
    return bool(check_and_run(test, "ivar", ivar, WAIT_TYPES, cmp, cmp_value, index))


globals().update(work_group_forms(__name__))


def raise_unsatisfied(
    routine: str, outcome: int, mode: int, index: Any, seen: Any, cmp: int, wanted: Any, timeout: float | None
) -> NoReturn:
    """Raise the error of a wait of ``routine`` that ended while element ``index`` was ``seen``.

    It is ``PeerLost`` if ``outcome``, from the core, is ``LOST``, else ``WaitTimeout`` after ``timeout`` seconds.
    ``mode`` is a `Mode`; ``cmp`` and ``wanted`` are the comparison and the value to compare with.
    """
    this = job.current()
    if outcome == _core.LOST:
        this.raise_lost(routine)
    which = f"element {index}" if mode == Mode.ALL else f"no element holds, and element {index}"
    which = f"sig_addr[{index}]" if routine.startswith("signal") else which
    compared = f"{which} is {seen}, wanted {SYMBOLS[Cmp(cmp)]} {wanted}"
    raise WaitTimeout(f"{routine} on PE {this.pe}: after {timeout} s {compared}")


def check_cmp(cmp: Any) -> None:
    """Raise ``ValueError`` unless ``cmp`` is one of the comparisons."""
    if not isinstance(cmp, Integral) or cmp not in list(Cmp):
        raise ValueError(error_texts.no_member("cmp", Cmp, cmp))


def check_and_run(
    routine: Any, name: str, ivar: Any, types: tuple[str, ...], cmp: Any, cmp_value: Any, index: Any,
    *timeout: float | None,
) -> Any:  # fmt: skip
    """Run a wait or test that the core declined: raise the error, or pass the core arguments that it accepts.

    ``routine`` is the public routine, ``name`` that of its array ``ivar``, of the dtypes ``types``; ``timeout``, of
    waits only, is checked already. Returns the result of the routine.
    """
    job.current()
    array = check.view(ivar, name, types, routine.__name__)
    check.element(array, index)
    check_cmp(cmp)
    value = check.as_element(ivar, cmp_value)[0].item()
    given = array.array, int(cmp), value, check.position(array, index), *timeout
    return check.run_in_core(routine.__name__, routine.core, *given)
