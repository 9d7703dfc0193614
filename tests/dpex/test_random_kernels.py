"""Random kernels give the same results with and without the simulator's vectoriser as in plain Python."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from launching import own_compiler
from random_kernels import ITEMS, Program, arrays, function, programs

from ishmem.dpex import kernel_api as kapi

pytestmark = own_compiler  # the vectoriser of the other stack's runtime gives wrong results


class Device:
    """A process that runs programs with a setting of the vectoriser."""

    def __init__(self, vectorise: str) -> None:
        environment = {**os.environ, "ISHMEM_SIM_VECTORISE": vectorise}
        command = [sys.executable, str(Path(__file__).with_name("random_kernels.py"))]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, program: Program) -> list[Any]:
        pickle.dump(tuple(program), self.process.stdin)
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)

    def close(self) -> None:
        self.process.stdin.close()
        assert self.process.wait(60) == 0


@pytest.fixture(scope="module")
def devices() -> Iterator[list[Device]]:
    both = [Device("0"), Device("1G")]
    yield both
    for device in both:
        device.close()


def in_plain_python(program: Program) -> list[Any]:
    whole = arrays(program)
    views = [each[::stride] for each, stride in zip(whole, program.strides)]
    kapi.call_kernel(function(program), kapi.NdRange((ITEMS,), (program.groups,)), *views)
    return whole


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
