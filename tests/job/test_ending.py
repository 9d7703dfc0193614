"""The signals that the processes of a failed job get, and when."""

from __future__ import annotations

import signal

import pytest

from ishmem.launch.ending import MONITOR, REACTING, SUPERVISOR, Ending, Patience


def sent(ending: Ending, until: float) -> list[tuple[float, signal.Signals]]:
    """Return the signals up to a time, each with its time."""
    found = []
    while (at := ending.next) is not None and at <= until:
        assert ending.take(at - 0.01) is None
        number = ending.take(at)
        assert number is not None
        found.append((at, number))
    return found


def test_no_signal_without_a_loss() -> None:
    ending = Ending()
    assert ending.next is None
    assert ending.take(1e9) is None


@pytest.mark.parametrize("patience", [SUPERVISOR, MONITOR])
def test_each_signal_once(patience: Patience) -> None:
    ending = Ending()
    ending.begin(5.0, patience)
    assert sent(ending, 100.0) == [(5.0, signal.SIGTERM), (5.0 + patience.ending, signal.SIGKILL)]
    assert ending.take(1e9) is None


def test_more_time_for_one_that_reacts() -> None:
    ending = Ending()
    ending.begin(MONITOR.failing, MONITOR)
    ending.begin(REACTING, MONITOR)
    assert ending.next == REACTING > MONITOR.failing


def test_the_earlier_kill_counts() -> None:
    """A signal of the user neither delays the end of a job that has failed, nor waits for it."""
    late, at_once = Ending(), Ending()
    late.begin(3.0, SUPERVISOR)
    late.kill(10.0)
    assert sent(late, 100.0) == [(3.0, signal.SIGTERM), (3.0 + SUPERVISOR.ending, signal.SIGKILL)]
    at_once.begin(3.0, SUPERVISOR)
    at_once.kill(1.0)
    assert sent(at_once, 100.0) == [(1.0, signal.SIGKILL)]
