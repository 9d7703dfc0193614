"""The environment of a PE: the SYCL stack, and the devices of the node."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys

from ishmem.environment import stack
from ishmem.launch.options import UsageError, count as parse_count

_COUNT = """
from ishmem.ipc import pyze
print(sum(len(pyze.devices(driver)) for driver in pyze.drivers()))
"""


def environment(simulated: int, sim: int | None) -> tuple[dict[str, str], int]:
    """Return the environment that all PEs of a node share, and the number of devices on the node.

    Args:
        simulated: Number of devices that the simulator has, if no variable tells.
        sim: Number of simulated devices that the user asks for.

    Raises:
        UsageError, IshmemError, ImportError: No device can be used.
    """
    if "ISHMEM_JOB" in os.environ:
        _forget_outer_job()
    if sim:
        os.environ.update(ISHMEM_DEVICE="sim", ISHMEM_SIM_DEVICES=str(sim))
    kind = stack.choose()
    common = {**os.environ, **stack.environment(kind, simulated), "ISHMEM_DEVICE": kind}
    return common, _count(kind, common, simulated)


def _forget_outer_job() -> None:
    """Remove variables that an enclosing ishmrun has set, so that they do not count as settings of the user."""
    for name in ("ISHMEM_PE", "ISHMEM_NPES", "ISHMEM_JOB", "ISHMEM_BOARD", "ISHMEM_JOINED"):
        os.environ.pop(name, None)
    if re.fullmatch(r"level_zero:\d+", os.environ.get("ONEAPI_DEVICE_SELECTOR", "")):
        del os.environ["ONEAPI_DEVICE_SELECTOR"]


def _count(kind: str, environment: dict[str, str], simulated: int) -> int:
    if kind == "sim":
        try:
            return parse_count(environment["ISHMEM_SIM_DEVICES"])
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"ISHMEM_SIM_DEVICES: {error}") from None
    # In another process: a driver that is initialised here does not survive the fork.
    done = subprocess.run(
        [sys.executable, "-c", _COUNT], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode or int(done.stdout) < 1:
        reason = (done.stderr.strip().splitlines() or ["Level Zero shows none"])[-1]
        raise UsageError(f"no GPU can be used: {reason}; --sim {simulated} simulates them")
    return int(done.stdout)
