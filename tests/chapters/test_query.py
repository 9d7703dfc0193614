"""Queries: PE numbers, what a PE can access, and the version, on the host and in kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import dpex, dpnp, kapi, refused, same

import ishmem
from ishmem.testing import Pes


def test_numbers_and_version_on_the_host(pes: Pes) -> None:
    assert pes.run(check_queries, pes.n) == list(range(pes.n))


def check_queries(n: int) -> int:
    assert (ishmem.n_pes(), ishmem.is_initialized(), ishmem.query_initialized()) == (n, True, True)
    assert ishmem.info_get_version() == (1, 6)
    assert 0 < len(ishmem.info_get_name()) < 256
    return ishmem.my_pe()


@pytest.mark.ishmem
def test_what_a_pe_can_access() -> None:
    n = ishmem.n_pes()
    a, ordinary = ishmem.zeros(8), dpnp.zeros(8)
    for pe in range(n):
        assert ishmem.pe_accessible(pe)
        assert ishmem.addr_accessible(a[2:], pe)
        assert not ishmem.addr_accessible(ordinary, pe)
    assert not ishmem.pe_accessible(n)
    assert not ishmem.pe_accessible(-1)
    refused(IndexError, f"pe is {n}", ishmem.addr_accessible, a, n)
    with pytest.raises(TypeError, match="pe is an integer"):
        ishmem.pe_accessible("0")  # type: ignore[arg-type]


@dpex.kernel
def ask(item: kapi.Item, a: Any, ordinary: Any, out: Any) -> None:
    pe = item.get_id(0) - 1
    out[pe + 1, 0], out[pe + 1, 1] = ishmem.my_pe(), ishmem.n_pes()
    out[pe + 1, 2] = ishmem.pe_accessible(pe)
    out[pe + 1, 3] = ishmem.addr_accessible(a[2:], pe)
    out[pe + 1, 4] = ishmem.addr_accessible(ordinary, pe)
    out[pe + 1, 5], out[pe + 1, 6] = ishmem.info_get_version()


@pytest.mark.ishmem
def test_numbers_and_access_in_a_kernel() -> None:
    """Numbers from -1 to the number of PEs, of which the first and the last are no PEs."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, ordinary, out = ishmem.zeros(8), dpnp.zeros(8), dpnp.zeros((n + 2, 7), dtype="i8")
    dpex.call_kernel(ask, kapi.Range(n + 2), a, ordinary, out)
    wanted = np.array([[me, n, 0 <= pe < n, 0 <= pe < n, 0, 1, 6] for pe in range(-1, n + 1)])
    same(out, wanted)
