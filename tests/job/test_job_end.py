"""What ends a job, the signals that its processes get and when, and its exit status."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from ishmem.common.job_end import AFTER_SIGNAL, MONITOR, REACTING, SUPERVISOR, Cause, Ending, JobEnd, Patience

ENDING = SUPERVISOR.ending


def sent(ending: Ending, until: float = 1e9) -> list[tuple[float, signal.Signals]]:
    """Return the signals up to a time, each with its time."""
    found = []
    while (at := ending.due_at) is not None and at <= until:
        assert ending.pop_due(at - 0.01) is None
        number = ending.pop_due(at)
        assert number is not None
        found.append((at, number))
    return found


class Job(JobEnd):
    """The end of a job of PEs 0 and 1, which records what they get and what is printed."""

    def __init__(self, goes_on: bool = False, timeout: float | None = None) -> None:
        super().__init__(timeout)
        self.actions: list[int | str] = []
        self._goes_on = goes_on

    def may_go_on(self) -> bool:
        return self._goes_on

    def send(self, number: int) -> None:
        self.actions.append(number)

    def report(self, *lines: str) -> None:
        self.actions.extend(lines)

    def names(self) -> str:
        return "0, 1"

    def places(self) -> list[str]:
        return ["places"]


def test_the_documentation_has_the_table() -> None:
    """Each cause has a row with its exit status, and the states have their times."""
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines()]
    for cause in Cause:
        assert any(row[0].startswith(cause.value.event) and row[-1] == str(cause.value.status) for row in rows), cause
    told = f"after {SUPERVISOR.failing:g} s with the supervisor; with a monitor after {MONITOR.failing:g} s, or "
    assert f"{told}{REACTING:g} s for a PE that has raised" in page
    assert f"after {SUPERVISOR.ending:g} s with the supervisor, {MONITOR.ending:g} s with a monitor" in page
    assert f"SIGKILL after {AFTER_SIGNAL:g} s, or with the next signal" in page


def test_no_signal_without_a_loss() -> None:
    ending = Job()
    assert ending.due_at is None
    assert ending.pop_due(1e9) is None


@pytest.mark.parametrize("patience", [SUPERVISOR, MONITOR])
def test_each_signal_once(patience: Patience) -> None:
    ending = Ending()
    ending.begin(5.0, patience)
    assert sent(ending) == [(5.0, signal.SIGTERM), (5.0 + patience.ending, signal.SIGKILL)]
    assert ending.pop_due(1e9) is None


def test_more_time_for_one_that_has_raised() -> None:
    ending = Ending()
    ending.begin(MONITOR.failing, MONITOR)
    ending.begin(REACTING, MONITOR)
    assert ending.due_at == REACTING > MONITOR.failing


@pytest.mark.parametrize("cause", Cause)
def test_causes(cause: Cause) -> None:
    """Each has its row's status and delay; those that follow neither change the status nor give more time."""
    ending = Job()
    ending.end(cause, 7, since=1.0)
    status = cause.value.status
    assert ending.result() == (status if isinstance(status, int) else 7)
    at = 1.0 + (SUPERVISOR.failing if cause.value.grace else 0.0)
    ending.end(Cause.FAILED, 9, since=50.0)
    assert ending.result() != 9
    assert sent(ending) == [(at, signal.SIGTERM), (at + ENDING, signal.SIGKILL)]


@pytest.mark.parametrize(
    ("code", "deserted", "status", "said"),
    [
        (-9, True, 137, "PE 1 was ended by SIGKILL; ending the other PEs"),
        (7, False, 7, "PE 1 exited with status 7; ending the other PEs"),
        (0, True, 1, "PE 1 exited with status 0 without ishmem.finalize(); ending the other PEs"),
        (0, False, 0, ""),
    ],
)
def test_ends_of_pes(code: int, deserted: bool, status: int, said: str) -> None:
    ending = Job()
    assert ending.pe_ended("1", code, deserted, others=True) == said
    assert ending.result() == status
    assert (ending.due_at is None) == (status == 0)
    assert ending.pe_ended("0", 5, deserted=True, others=False) == "PE 0 exited with status 5"
    assert ending.result() == (status or 5)


def test_pes_without_ishmem_get_no_time() -> None:
    ending = Job()
    ending.end(Cause.RAISED, since=1e6)
    ending.pe_ended("1", 7, deserted=False, others=True, grace=False)
    assert ending.due_at and ending.due_at < 1e6
    assert ending.result() == 7


def test_a_job_that_goes_on() -> None:
    """Its status is 0 if a PE has ended well, else that of the first one that died."""
    ending = Job(goes_on=True)
    assert ending.pe_ended("2", -9, True, others=True) == "PE 2 was ended by SIGKILL; the other PEs go on (--survive)"
    ending.pe_ended("1", 7, True, others=False)
    assert (ending.due_at, ending.status, ending.result()) == (None, None, 137)
    ending.pe_ended("0", 0, False, others=False)
    assert ending.result() == 0
    ending.kill_after_signal(signal.SIGINT, 1.0)
    assert not ending.goes_on


def test_a_signal_of_the_user() -> None:
    """The PEs that it ends are not told; the next one kills."""
    ending = Job()
    ending.kill_after_signal(signal.SIGINT, 1.0)
    assert ending.pe_ended("0", -2, True, others=True) == ""
    assert (ending.status, ending.due_at) == (130, 1.0 + AFTER_SIGNAL)
    ending.kill_after_signal(signal.SIGINT, 2.0)
    assert sent(ending) == [(2.0, signal.SIGKILL)]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("since", [0.0, 2.0, AFTER_SIGNAL])
def test_a_signal_of_the_user_and_a_hang(since: float, order: int) -> None:
    """Neither puts off the SIGKILL that is due because of the other."""
    ending = Job()
    steps = [lambda: ending.kill_after_signal(signal.SIGINT, 1.0), lambda: ending.end(Cause.HANG, since=since)]
    for step in steps[::order]:
        step()
    at, kill = since + SUPERVISOR.failing, (1.0 + AFTER_SIGNAL, signal.SIGKILL)
    assert ending.result() == 124
    assert sent(ending) == ([(at, signal.SIGTERM), (at + ENDING, signal.SIGKILL)] if at < kill[0] else [kill])


def test_a_time_out_after_a_failure_is_none() -> None:
    ending = Job(timeout=1e3)
    ending.end(Cause.FAILED, 3)
    ending.act(time.monotonic() + 1e4)
    assert ending.result() == 3 and not [each for each in ending.actions if str(each).startswith("timed out")]


def test_a_time_out_does_not_wait() -> None:
    ending, now = Job(timeout=1e3), time.monotonic()
    assert ending.due_at and now < ending.due_at
    ending.act(now)
    assert ending.status is None
    ending.kill_after_signal(signal.SIGINT, now)
    ending.act(now + 9)
    assert ending.status is None
    ending.act(now + 2e3)
    assert ending.result() == 124
    assert ending.due_at <= time.monotonic()


def test_what_is_sent_and_printed() -> None:
    """SIGTERM is announced where the PEs had time to end by themselves; a time-out and SIGINT show where they are."""
    failed = Job()
    failed.end(Cause.FAILED, 3, since=0.0)
    for at in (SUPERVISOR.failing, SUPERVISOR.failing + ENDING):
        failed.act(at)
    told = f"not ended within {SUPERVISOR.failing:g} s: PE 0, 1; ending it"
    assert failed.actions == [told, signal.SIGTERM, signal.SIGKILL]
    late, now = Job(timeout=1e3), time.monotonic()
    late.act(now)
    late.act(now + 2e3)
    late.act(now + 2e3)
    assert late.actions == ["timed out after 1000 s; ending PE 0, 1", "places", signal.SIGTERM]
    interrupted = Job()
    interrupted.forward(signal.SIGINT)
    interrupted.forward(signal.SIGTERM)
    said = [f"{number.name} passed on to the PEs" for number in (signal.SIGINT, signal.SIGTERM)]
    assert interrupted.actions == [said[0], "places", signal.SIGINT, said[1], signal.SIGTERM]
