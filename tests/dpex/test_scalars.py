"""Scalars of numpy as kernel arguments: each type, as itself and in a tuple, arrives as numpy has it."""

from __future__ import annotations

import numpy as np
import pytest
from launching import run

from ishmem import dpex

ENDS = {
    "b": [False, True],
    "i": [-3, 0, 1],
    "u": [0, 1, 200],
    "f": [-1.5, 0.0, float("inf")],
    "c": [1 - 2j, 0j],
}


def keep(item, given, kept, truth, in_tuple):
    kept[0] = given
    kept[1] = in_tuple[1]
    truth[0] = 1 if given else 0


@pytest.mark.parametrize(
    "kind",
    [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32,
     np.float64, np.complex64, np.complex128],
)  # fmt: skip
def test_each_type(kind: type[np.generic]) -> None:
    dtype = np.dtype(kind)
    ends = [] if dtype.kind not in "iu" else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    for number in [*ENDS[dtype.kind], *ends]:
        value = dtype.type(number)
        kept, truth = run(keep, 1, value, np.zeros(2, dtype), np.zeros(1, "i8"), (7, value))
        assert kept.tolist() == [value.item()] * 2
        assert truth[0] == bool(value)


@pytest.mark.parametrize("value", [np.longdouble(1), np.datetime64("2026-11-28"), np.str_("a"), np.void(b"a")])
def test_types_that_kernels_have_not(value: np.generic) -> None:
    with pytest.raises(dpex.errors.UnsupportedKernelArgumentError, match=f"got {type(value).__name__}"):
        run(keep, 1, value, np.zeros(2), np.zeros(1, "i8"), (7, 7))
