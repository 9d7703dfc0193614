"""Kernels of one work-item that run barriers and syncs in the order of a SYCL queue."""

from __future__ import annotations

import functools
from typing import Any

import dpctl

import ishmem

from .front_end import Range, call_kernel_async, kernel, kernel_api as kapi


@functools.cache
def _kernel(name: str) -> Any:
    routine = getattr(ishmem, name)

    def sync(item: kapi.Item, anchor, team):
        routine()

    def sync_team(item: kapi.Item, anchor, team):
        routine(team)

    return kernel(sync_team if name == "team_sync" else sync)


def launch(name: str, team: int, anchor: Any, after: dpctl.SyclEvent) -> tuple[dpctl.SyclEvent, dpctl.SyclEvent]:
    """Submit ``barrier_all``, ``sync_all`` or ``team_sync`` to the queue of ``anchor``, to run after ``after``.

    Returns:
        The event of the release of the arguments on the host, and that of the kernel.
    """
    released, done = call_kernel_async(_kernel(name), Range(1), (after,), anchor, team)
    return released, done
