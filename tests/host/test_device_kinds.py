"""Machines with devices of several kinds: PEs take GPUs, discrete ones first."""

from __future__ import annotations

import subprocess

from subprocesses import program, run_program

import ishmem
from ishmem.ipc import pyze
from ishmem.runtime import job
from ishmem.testing import Pes

KINDS = {"ISHMEM_SIM_KINDS": "npu,integrated,discrete,discrete"}


def devices(done: subprocess.CompletedProcess[str]) -> list[int]:
    """Return the number of each PE's device among all simulated ones, which its id holds."""
    assert done.returncode == 0, done
    return [int(line.split()[-1][24:26], 16) for line in sorted(done.stdout.splitlines())]


def run(n: int, **env: str) -> subprocess.CompletedProcess[str]:
    return run_program(program("reach_the_others"), n, sim=4, env={**KINDS, **env})


def test_an_integrated_gpu_comes_last() -> None:
    """One line tells that a PE is on it; an NPU is nobody's device."""
    done = run(3)
    assert devices(done) == [2, 3, 1]
    told = [line for line in done.stderr.splitlines() if line.startswith("ishmem run: ")]
    assert len(told) == 1, done
    assert told[0].startswith(
        "ishmem run: PE 2 of this node is on an integrated GPU, Intel(R) Graphics (simulated): there are 2 discrete"
    )


def test_cards_only() -> None:
    done = run(2)
    assert devices(done) == [2, 3]
    assert "integrated" not in done.stderr


def test_the_users_selector() -> None:
    """It decides, and `init` takes discrete GPUs first among what it leaves."""
    assert devices(run(1, ONEAPI_DEVICE_SELECTOR="level_zero:0")) == [1]
    assert devices(run(2, ONEAPI_DEVICE_SELECTOR="level_zero:0,2")) == [3, 1]


def cores() -> tuple[int, int]:
    """Return the Xe cores of this PE's device, and how many work-groups PEs may launch."""
    return pyze.xe_cores(job.current().heap.device), ishmem.max_work_groups()


def test_the_least_device_limits_launches() -> None:
    """The same launch suits all PEs; kernels of a group of that many work-groups run on each."""
    with Pes(2, {"ISHMEM_SIM_DEVICES": "2", "ISHMEM_SIM_KINDS": "discrete,integrated"}) as pes:
        (large, most), (small, same) = pes.run(cores)
    assert most == same == small == 1
    assert large >= small
