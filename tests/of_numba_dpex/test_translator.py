"""Crashes of the translator to SPIR-V, which numba-dpex starts as a program."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from common import dpex, kapi
from numba.core.errors import NumbaError
from numba_dpex.kernel_api_impl.spirv import spirv_generator
from subprocesses import run_program

import ishmem

if TYPE_CHECKING:
    import trials

CRASH = """LLVM ERROR: Cannot translate source of bitcast instruction.
PLEASE submit a bug report to https://example.com/ and include the crash backtrace.
Stack dump:
0.	Program arguments: llvm-spirv -o a b
"""


@dpex.kernel
def copies(item: kapi.Item, a, b):
    a[1] = b[0]


@pytest.mark.ishmem(1)
def test_a_crash_of_the_translator_names_the_kernel() -> None:
    """The kernel is named, with the translator's error and not its stack."""
    run_cmd = spirv_generator.run_cmd
    spirv_generator.run_cmd = lambda _command, error_message: run_cmd(
        ["sh", "-c", f"echo '{CRASH}'; exit 1"], error_message
    )
    try:
        with pytest.raises(NumbaError) as caught:
            dpex.call_kernel(copies, kapi.Range(1), *(ishmem.zeros(4, dtype="i2") for _ in range(2)))
    finally:
        spirv_generator.run_cmd = run_cmd
    lines = str(caught.value).splitlines()
    assert lines[0] == "the kernel copies does not compile:", lines
    assert lines[-1].strip() == CRASH.splitlines()[0], lines
    assert len(lines) <= 5, lines


KILLED = """
import os
import ishmem
from ishmem.dpex import call_kernel, kernel, kernel_api as kapi
from numba_dpex.kernel_api_impl.spirv import spirv_generator

@kernel
def barrier(item: kapi.Item, a):
    ishmem.barrier_all()

ishmem.init()
a = ishmem.zeros(1, dtype="i8")
spirv_generator.run_cmd = lambda *_arguments, **_named: os.kill(os.getpid(), 9)
call_kernel(barrier, kapi.Range(1), a)
"""


def test_killed_while_it_runs(trial: trials.Trial) -> None:
    """The translator has no file that would stay."""
    environment = {**trial.environment(), "ISHMEM_SYMMETRIC_SIZE": "1M", "ISHMEM_KERNEL_CACHE": "off"}
    done = run_program(KILLED, 1, env=environment, timeout=30)
    assert done.returncode == 128 + signal.SIGKILL, done
    assert not trial.left()
