"""How this PE leaves its job: ``finalize``, an exception, the end of the program, or ``MPI_Finalize``."""

from __future__ import annotations

import atexit
import functools
import logging
import os
import sys
import threading
import time
from collections import Counter

from ishmem import _core
from ishmem.common import callsite
from ishmem.common.errors import IshmemError, LevelZeroError
from ishmem.common.shared_numbers import Kind
from ishmem.common.status_board import PeState, Record, StatusBoard
from ishmem.runtime import job, kernel_loading, long_waits, mpi_job, program_status, unfinished_work
from ishmem.runtime.membership import Membership

_AFTER_ERROR = "it left after an error"
LEAKS_SHOWN = 10
"""Lines of a report of allocations that were never freed."""

_LEAK_WARNINGS = {"auto": ResourceWarning, "warn": RuntimeWarning}

log = logging.getLogger("ishmem")
_record: Record | None = None
"""The record of this process on the status board."""
_mpi: mpi_job.MpiJob | None = None
"""The exit handling of this process in a job over MPI."""


def finalize_before_mpi() -> None:
    """Finalise because the program calls ``MPI_Finalize``, after which no operation between nodes works."""
    if not job.running():
        return
    log.info("the program called MPI_Finalize before ishmem.finalize(); finalising now")
    try:
        leave(job.current())
    except IshmemError as error:
        log.warning("%s", error)
    job.finish(by_mpi=True)


def leave(this: job.Job) -> None:
    """Complete the operations of this PE, leave the job, and report leaks; collective, blocking.

    Raises:
        PeerLost, LevelZeroError, IndexError, SymmetryError, IshmemError: As ``finalize`` does.
    """
    if this.observer:
        this.observer.leaving = time.monotonic_ns()
    leaks = _leaks(this)
    try:
        with long_waits.patience(this, lambda: ", for what is on queues") as report:
            this.queue_workers.drain(report)
        this.default_engine.quiet()
        _core.fence()
        this.raise_problems()
        this.heap.allocator.end_waits()
    except LevelZeroError:
        abandon()  # this PE's operations may never complete
        raise
    finally:
        if job.running():
            _leave_with_others(this)
    this.note_far()
    if this.links.lost and not this.losses.goes_on:
        pe, how = next(iter(this.links.lost.items()))
        raise this.loss_of(pe, how, "finalize")
    if leaks and this.settings.leaks == "error":
        raise IshmemError(leaks)
    if leaks and this.settings.leaks in _LEAK_WARNINGS and this.pe == 0:  # the allocations are the same on all PEs
        callsite.warn(leaks, _LEAK_WARNINGS[this.settings.leaks])


def _leave_with_others(this: job.Job) -> None:
    _core.publish_barriers_begun(False)
    state = PeState.ABANDONED
    try:
        with long_waits.patience(this, lambda: f", for {this.links.awaited()}") as report:
            this.links.leave(None, report)
            if this.network and not this.losses.hub:  # the hub has already reported that all have left
                this.network.leave(report)
        state = PeState.LEFT
    finally:
        _close(this, state)


def _close(this: job.Job, state: PeState) -> None:
    try:
        _release(this, state)
    finally:
        if this.observer:
            this.observer.stop()


def _release(this: job.Job, state: PeState) -> None:
    atexit.unregister(at_exit)
    this.waits.close()
    this.board[this.node.place].state = state
    drained = this.queue_workers.close()
    for context in list(this.contexts):
        context.close()
    job.finish()
    unfinished_work.unwatch()
    kernel_loading.stop()
    this.default_engine.close()
    this.losses.close()
    if this.late:
        this.late.close(failed=state is not PeState.LEFT or bool(this.links.lost))
    if this.proxy:
        this.proxy.close()
    if this.network:
        this.network.stop(politely=state is PeState.LEFT)
    if state is PeState.LEFT and not this.links.lost and _core.lost_pe() < 0:
        _leave_mpi(this)
    if drained:
        this.registered.close()
    this.heap.close(unmap=drained)  # commands that still run access the mappings
    this.links.close("" if state is PeState.LEFT else _AFTER_ERROR)


def _leave_mpi(this: job.Job) -> None:
    """Leave the MPI job, and report to the monitor of the node that the exit of this process is no failure."""
    if this.mpi:
        this.mpi.leave()
    if this.is_watched:
        this.links.report(Kind.DONE)
    if this.monitor:
        this.monitor.close()


def _leaks(this: job.Job) -> str:
    live = list(this.heap.allocator.live.values())
    if not live:
        return ""
    alike = Counter(f"{a.what}, from {a.where}" for a in live)
    shown = alike.most_common(LEAKS_SHOWN)
    lines = [f"  {text}" + f", {count} times" * (count > 1) for text, count in shown]
    if left := len(live) - sum(count for _text, count in shown):
        lines.append(f"  and {left} more")
    head = f"PE {this.pe}: {len(live)} symmetric allocations were never freed (by ishmem.free; del frees nothing):"
    return "\n".join([head, *lines])


def abandon(how: str = _AFTER_ERROR, status: int = 1) -> None:
    """Leave at once, without waiting for the other PEs, which then count this PE as lost.

    ``how`` is for their messages, ``status`` the exit status of a job over MPI.
    """
    if job.running():
        this = job.current()
        _report(this, how, status)
        if observer := this.observer:
            observer.how = how
        _core.publish_barriers_begun(True)
        _close(this, PeState.ABANDONED)


def watch_end(board: StatusBoard | None, member: Membership, is_brief: bool) -> None:
    """Report a failure of the program to other PEs and ``ishmem run`` early: threads may delay the process's end."""
    global _record, _mpi
    _record, _mpi = board[member.node.place] if board else None, member.mpi
    program_status.watch_exceptions(board, member.pe, is_brief, _give_up)


def _give_up(how: str, status: int) -> None:
    if _record and _record.gave_up:
        return
    if _record:
        _record.status, _record.gave_up = status, time.monotonic()
    if _mpi:
        _mpi.end_later(status)
    if job.running():
        _leave_after_failure(job.current(), how, status)


@functools.cache
def watch_main_thread() -> None:
    """Report a failure status of ``sys.exit`` before the interpreter waits for the program's threads."""
    program_status.watch_status()
    if register := getattr(threading, "_register_atexit", None):
        process = os.getpid()
        register(lambda: _end_main_thread(process))


def _end_main_thread(process: int) -> None:
    if os.getpid() == process and (status := program_status.status_of_exit()):
        _give_up(f"exit with status {status}", status)


def _leave_after_failure(this: job.Job, how: str, status: int) -> None:
    """Leave, so that the other PEs count this one as lost; memory stays mapped, since threads may still use it."""
    _report(this, how, status)
    this.board[this.node.place].state = PeState.ABANDONED
    this.links.close(_AFTER_ERROR)


def _report(this: job.Job, how: str, status: int) -> None:
    """Report that the program has failed: on the status board, and on several nodes to the monitor or the hub."""
    this.board[this.node.place].exiting = time.monotonic()  # before the other PEs count this one as lost, and fail
    if this.is_watched:
        this.links.fail(how, status)
    elif this.losses.hub and this.network:
        this.links.fail(f"{how}, on {this.network.where(this.pe)}", status)


def at_exit() -> None:
    """Leave the job at the end of a program that has not called ``finalize``."""
    if not job.running():  # in a fork
        return
    # sys.last_type is set if an exception ended the program; the other PEs need that report at once.
    if hasattr(sys, "last_type"):
        abandon(f"{type(sys.last_value).__name__}: {sys.last_value}")
        return
    this = job.current()
    if this.mpi and (status := program_status.status()):
        abandon(f"exit with status {status}", status)
        return
    this.board[this.node.place].exiting = time.monotonic()
    log.info("the program ended without ishmem.finalize(); finalising now")
    try:
        leave(this)
    except IshmemError as error:
        log.warning("%s", error)
