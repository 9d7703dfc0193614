"""Random kernels give the same results with and without the simulator's vectoriser as in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from launching import own_compiler
from random_kernels import ITEMS, Device, Program, arrays, function, programs

from ishmem.dpex import kernel_api as kapi

pytestmark = own_compiler  # the vectoriser of the other stack's runtime gives wrong results


@pytest.fixture(scope="module")
def devices() -> Iterator[list[Device]]:
    both = [Device("random_kernels", ISHMEM_SIM_VECTORISE=size) for size in ("0", "1G")]
    yield both
    for device in both:
        device.close()


def in_plain_python(program: Program) -> list[Any]:
    whole = arrays(program)
    views = [each[::stride] for each, stride in zip(whole, program.strides)]
    kapi.call_kernel(function(program), kapi.NdRange((ITEMS,), (program.groups,)), *views)
    return whole


@pytest.mark.slow_cases("fewer random kernels", "many")
@pytest.mark.parametrize("count", [10, 40], ids=["few", "many"])
def test_same_results(devices: list[Device], count: int) -> None:
    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(program=programs())
    def check(program: Program) -> None:
        expected = in_plain_python(program)
        for device in devices:
            for found, wanted in zip(device.run(program), expected):
                np.testing.assert_array_equal(found, wanted, program.source)

    check()
