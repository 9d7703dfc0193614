"""Random kernels give what a model of them gives, with and without the simulator's vectoriser, optimiser and checks.

On a GPU, all work-items of a sub-group reach a call together: what others get is left open.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from launching import own_compiler
from random_kernels import END, START, Device, Program, in_model, programs

pytestmark = own_compiler

SETTINGS = {
    "not vectorised": {"ISHMEM_CHECK": "1", "ISHMEM_SIM_VECTORISE": "0"},
    "vectorised": {"ISHMEM_SIM_VECTORISE": "1G"},
    "not optimised": {"ISHMEM_SIM_OPTIMISE": "0"},
}
"""The last one is about kernels with calls of sub-groups; for them the vectoriser's size counts for nothing."""
ON_GPU = os.environ.get("ISHMEM_DEVICE") == "gpu"

SUMS_IN_A_LOOP = """
    for r in range(40):
        if a[r] % 40 > w % 3:
            CALL((0, r, 0), 'barrier')
            for k in range(n, a[r] % 40, s):
                x += k
"""


@pytest.fixture(scope="module")
def devices() -> Iterator[list[Device]]:
    found = [Device(**values) for values in list(SETTINGS.values())[: 1 if ON_GPU else None]]
    yield found
    for device in found:
        device.close()


def check(devices: list[Device], program: Program) -> None:
    for device in devices:
        out, most = device.run(program)
        np.testing.assert_array_equal(out, in_model(program, most), f"{program.source}{program.group}")


@pytest.mark.slow_cases("fewer random kernels", "many-alone", "many-sub-groups")
@pytest.mark.parametrize("calls", [False, True], ids=["alone", "sub-groups"])
@pytest.mark.parametrize("factor", [1, 4], ids=["few", "many"])
def test_random_kernels(devices: list[Device], factor: int, calls: bool) -> None:
    @settings(max_examples=factor * (15 if calls else 10), deadline=None, suppress_health_check=list(HealthCheck))
    @given(program=programs(calls, diverged=not ON_GPU))
    def check_one(program: Program) -> None:
        check(devices if calls else devices[:2], program)

    check_one()


def test_sums_in_a_loop(devices: list[Device]) -> None:
    for group in (8, 20, 60):
        check(devices, Program(f"{START}{SUMS_IN_A_LOOP}{END}\n", group))


def test_long_kernels(devices: list[Device]) -> None:
    """Longer than what the simulator vectorises of others."""
    lines = [f"    x = (x * {k % 89 + 2} + a[(i + {k}) % 120] * {k % 7}) % 97" for k in range(60)]
    check(devices, Program("\n".join([START, *lines, SUMS_IN_A_LOOP, END, ""]), 40))


@pytest.mark.skipif(ON_GPU, reason="about the OpenCL runtime")
def test_sub_groups_that_the_runtime_only_emulates_are_refused() -> None:
    """Their sums would be wrong without a word."""
    device = Device(CL_CONFIG_CPU_VECTORIZER_MODE="1")
    words = "kernel kernel uses sub-groups, which .* cannot make here: it was not vectorised .* Use work-groups instead"
    with pytest.raises(RuntimeError, match=words):
        device.run(Program(f"{START}{SUMS_IN_A_LOOP}{END}\n", 20))
    device.close()
