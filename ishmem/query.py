"""Queries: this PE and the PEs of the job, what this PE can access, and the version of the library.

The same names work on the host and in kernels. None is collective or blocks.
"""

from __future__ import annotations

from typing import Any

from ishmem.common import constants
from ishmem.common.routines import exported
from ishmem.memory import is_symmetric, span_of
from ishmem.runtime import check, job

__all__ = exported(__name__)


def my_pe() -> int:
    """Return the number of this PE, from 0 to ``n_pes() - 1``; a constant inside kernels.

    Raises:
        StateError: Not between ``init`` and ``finalize``.

    Example:
        >>> 0 <= ishmem.my_pe() < ishmem.n_pes()
        True

    Source: OpenSHMEM 1.5, 9.1.2 (shmem_my_pe).
    """
    return job.current().pe


def n_pes() -> int:
    """Return the number of PEs of the job; a constant inside kernels.

    Raises:
        StateError: Not between ``init`` and ``finalize``.

    Example:
        >>> left, right = (ishmem.my_pe() - 1) % ishmem.n_pes(), (ishmem.my_pe() + 1) % ishmem.n_pes()

    Source: OpenSHMEM 1.5, 9.1.3 (shmem_n_pes).
    """
    return job.current().n_pes


def pe_accessible(pe: int) -> bool:
    """Return whether ``pe`` is a PE of the job that has neither died nor finalised; not collective.

    In a kernel: whether there is such a PE. For access by loads and stores, test the result of ``ptr``.

    Args:
        pe: Any integer.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        TypeError: ``pe`` is not an integer.

    Example:
        >>> ishmem.pe_accessible(right), ishmem.pe_accessible(n)
        (True, False)

    Source: OpenSHMEM 1.5, 9.1.6 (shmem_pe_accessible).
    """
    this = job.current()
    return 0 <= check.integer(pe, "pe") < this.n_pes and pe not in this.gone


def addr_accessible(a: Any, pe: int) -> bool:
    """Return whether operations on ``a`` at a PE are possible. Not collective.

    ``a`` is then symmetric or registered, and the PE is alive. Kernels ask neither for its life nor for static objects.

    Args:
        a: Any array, symmetric or private.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        IndexError: There is no such PE.
        TypeError: ``pe`` is not an integer.

    Example:
        >>> a = ishmem.zeros(4)
        >>> ishmem.addr_accessible(a, right), ishmem.addr_accessible(a + 1, right)
        (True, False)

    Source: OpenSHMEM 1.5, 9.1.7 (shmem_addr_accessible).
    """
    this = job.current()
    if check.integer(pe, "pe") in this.gone:
        return False
    check.pe(pe)
    span = span_of(a)
    return is_symmetric(a) or bool(span and this.registered.find(span[0], span[1] - span[0]))


def info_get_version() -> tuple[int, int]:
    """Return the major and minor version of the OpenSHMEM specification that ishmem implements; callable at any time.

    Example:
        >>> major, minor = ishmem.info_get_version()

    Source: OpenSHMEM 1.5, 9.1.9 (shmem_info_get_version).
    """
    return constants.VERSION


def info_get_name() -> str:
    """Return the name of the library; callable at any time.

    Example:
        >>> name = ishmem.info_get_name()

    Source: OpenSHMEM 1.5, 9.1.10 (shmem_info_get_name).
    """
    return constants.VENDOR_NAME
