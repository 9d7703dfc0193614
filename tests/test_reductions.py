"""Reductions and scans of the host, compared with numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import pattern, same
from pes import Pool

import ishmem
from ishmem.table import REDUCTIONS

COMBINE = {
    "and_reduce": np.bitwise_and,
    "or_reduce": np.bitwise_or,
    "xor_reduce": np.bitwise_xor,
    "max_reduce": np.maximum,
    "min_reduce": np.minimum,
    "sum_reduce": np.add,
    "prod_reduce": np.multiply,
}


def expected(routine: str, sources: list[np.ndarray], me: int) -> np.ndarray:
    """Combine the sources in the order of the PEs."""
    if routine in COMBINE:
        total = sources[0]
        for source in sources[1:]:
            with np.errstate(all="ignore"):
                total = COMBINE[routine](total, source)
        return total
    taken = sources[: me + 1] if routine == "sum_inscan" else sources[:me]  # of "sum_exscan"
    total = np.zeros_like(sources[0]) if not taken else taken[0]
    for source in taken[1:]:
        total = total + source
    return total


def check_reduction(routine: str, dtype: str, count: int) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    sources = [pattern(dtype, count, pe) for pe in range(n)]
    source, dest = ishmem.array(sources[me]), ishmem.zeros(count, dtype=dtype)
    call: Any = getattr(ishmem, routine)
    call(dest, source)
    same(dest, expected(routine, sources, me))
    call(source, source)
    same(source, expected(routine, sources, me))


@pytest.mark.parametrize("routine", REDUCTIONS)
def test_reduction(pes: Pool, routine: str) -> None:
    pes.run(check_reduction, routine, "int32", 1000)
