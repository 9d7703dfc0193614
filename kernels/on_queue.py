"""Kernels of one work-item that run barriers and syncs in the order of a SYCL queue."""

from __future__ import annotations

import functools
from typing import Any

import dpctl
import dpctl.tensor
import numba_dpex as dpex
from numba_dpex import kernel_api as kapi

import ishmem


@functools.cache
def _kernel(name: str) -> Any:
    routine = getattr(ishmem, name)

    def sync(item: kapi.Item, anchor, team):
        routine()

    def sync_team(item: kapi.Item, anchor, team):
        routine(team)

    return dpex.kernel(sync_team if name == "team_sync" else sync)


def launch(
    name: str, team: int, anchor: dpctl.tensor.usm_ndarray, after: dpctl.SyclEvent
) -> tuple[dpctl.SyclEvent, dpctl.SyclEvent]:
    """Submit ``barrier_all``, ``sync_all`` or ``team_sync`` to the queue of ``anchor``, to run after ``after``.

    Returns:
        The event of the release of the arguments on the host, and that of the kernel.
    """
    released, done = dpex.call_kernel_async(_kernel(name), kapi.Range(1), (after,), anchor, team)
    return released, done
