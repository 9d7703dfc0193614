"""The environment of a PE: the SYCL stack, and the devices of the node."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ishmem.environment import card, stack
from ishmem.launch.options import UsageError, count as parse_count

SELECTOR = "ONEAPI_DEVICE_SELECTOR"

_LIST = """
from ishmem.ipc import pyze
for index, device in enumerate(pyze.gpus()):
    properties = pyze.device_properties(device)
    print(index, int(properties.flags & pyze.DEVICE_INTEGRATED), properties.name.decode(errors="replace"))
"""


class Gpu(NamedTuple):
    """A GPU that is visible to the processes of this node.

    Attributes:
        number: The index among the visible GPUs, within ``ZE_AFFINITY_MASK``.
        is_integrated: Whether it is part of the processor.
        name: The name of the GPU; empty if it was not queried.
    """

    number: int
    is_integrated: bool = False
    name: str = ""


def environment(simulated: int, sim: int | None) -> tuple[dict[str, str], list[Gpu]]:
    """Return the environment that all PEs of a node share, and the node's GPUs in the order of their use by PEs.

    It removes variables of an enclosing ishmem run from that of this process, and sets those for ``sim`` there.

    Args:
        simulated: The number of simulated or emulated devices, if no environment variable sets it.
        sim: The number of simulated devices from the command line; None or 0 if it was not given.

    Raises:
        UsageError, IshmemError, ImportError: No device can be used.
    """
    if "ISHMEM_JOB" in os.environ:
        _forget_outer_job()
    if sim:
        os.environ.update(ISHMEM_DEVICE="sim", ISHMEM_SIM_DEVICES=str(sim))
    kind = stack.choose()
    common = {**os.environ, **stack.environment(kind, simulated), "ISHMEM_DEVICE": kind}
    if cards := card.requested():
        common[card.VARIABLE] = card.for_devices(cards, simulated)
    return common, sorted(_list(kind, common, simulated), key=lambda gpu: gpu.is_integrated)


def choice(common: Mapping[str, str], gpus: Sequence[Gpu], place: int) -> dict[str, str]:
    """Return the variables that select a device for PE ``place`` of the node; empty if ``common`` selects one.

    It prints a line if the device is an integrated GPU although there are discrete ones, the first in ``gpus``.
    """
    if common.get(SELECTOR):
        return {}
    gpu = gpus[place % len(gpus)]
    others = sum(not each.is_integrated for each in gpus)
    if gpu.is_integrated and others:
        print(
            f"ishmem run: PE {place} of this node is on an integrated GPU, {gpu.name}: there are {others} discrete "
            "ones, and kernels of different GPUs that wait for each other go at the pace of the slowest",
            file=sys.stderr,
        )
    selector = f"level_zero:{gpu.number}"
    return {SELECTOR: selector, stack.SELECTED: stack.selected(selector, common)}


def _forget_outer_job() -> None:
    """Remove variables set by an enclosing ishmem run, so that they do not count as settings of the user."""
    for name in ("PE", "NPES", "JOB", "BOARD", "JOINED", "NETWORK", "HUB"):
        os.environ.pop(f"ISHMEM_{name}", None)
    if os.environ.pop(stack.SELECTED, "").split(" ")[0] == os.environ.get(SELECTOR):
        os.environ.pop(SELECTOR, None)


def _list(kind: str, environment: dict[str, str], simulated: int) -> list[Gpu]:
    masked = environment.get(stack.MASK)
    if kind == "sim":
        try:
            count = parse_count(environment["ISHMEM_SIM_DEVICES"])
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"ISHMEM_SIM_DEVICES: {error}") from None
        if not masked and not environment.get("ISHMEM_SIM_KINDS"):
            return [Gpu(index) for index in range(count)]
    # In another process: a driver that is initialised here does not survive the fork.
    done = subprocess.run([sys.executable, "-c", _LIST], env=environment, capture_output=True, text=True, check=False)
    found = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    if done.returncode or not found:
        reason = (done.stderr.strip().splitlines() or ["Level Zero shows none"])[-1]
        if not done.returncode or "ERROR_UNINITIALIZED" in reason:  # as Intel's driver says it
            reason = stack.mask_problem(environment) or reason
        raise UsageError(f"no GPU can be used: {reason}; --sim {simulated} simulates them")
    return [Gpu(int(index), integrated == "1", name) for index, integrated, name in found]
