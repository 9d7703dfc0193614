"""The hub of a job in a process that is told when PEs end, as in the supervisor of ``ishmem run``."""

from __future__ import annotations

import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator

import pytest
import test_links
from subprocesses import program
from test_links import LIMIT, NOTICE, OF_JOB, check_round, in_threads, open_files, wait_until

from ishmem.common.errors import IshmemError, PeerLost
from ishmem.ipc import hub, wire
from ishmem.ipc.hub import Hub
from ishmem.ipc.links import Links
from ishmem.ipc.wire import Kind

HOW, FAILED = "was ended by SIGKILL", "its init failed"
N = 3


@pytest.fixture
def job() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def start(job: str) -> Iterator[Callable[..., Hub]]:
    """Start hubs that last until the end of the test and leave no descriptor behind."""
    before, started = open_files(), []

    def start(patience: float = LIMIT) -> Hub:
        started.append(Hub(job, N, patience=patience))
        return started[-1]

    yield start
    for each in started:
        each.close()
    assert wait_until(lambda: open_files() <= before)


def connect(job: str, *pes: int) -> dict[int, Links | IshmemError]:
    """Connect PEs, all in this process, and return the connection or the error of each."""
    found: dict[int, Links | IshmemError] = test_links.connect(job, N, *pes, start_hub=hub.elsewhere)
    return found


def assert_lost(links: Links, pe: int, how: str) -> None:
    assert wait_until(lambda: links.lost == {pe: how})


def close(*links: Links) -> None:
    for each in links:
        each.close(FAILED)


@pytest.mark.parametrize("victim", range(N))
def test_the_report_of_the_end_says_how_a_pe_was_lost(job: str, start: Callable[..., Hub], victim: int) -> None:
    started = start()
    links = connect(job, *range(N))
    links[victim].close()
    others = [links[pe] for pe in range(N) if pe != victim]
    assert not wait_until(lambda: others[0].lost, 0.3)  # the end of a connection is not yet a loss
    started.ended(victim, HOW)
    for each in others:
        assert_lost(each, victim, HOW)
        with pytest.raises(PeerLost, match=f"PE {victim} is lost: {HOW}"):
            each.allgather(b"")
    close(*others)


@pytest.mark.parametrize("victim", range(N))
@pytest.mark.parametrize("before_others", [True, False])
def test_a_pe_that_ends_before_it_joins_is_lost(
    job: str, start: Callable[..., Hub], victim: int, before_others: bool
) -> None:
    started = start()
    if before_others:
        started.ended(victim, HOW)
    else:
        threading.Timer(0.3, started.ended, (victim, HOW)).start()
    others = [pe for pe in range(N) if pe != victim]
    found = connect(job, *others)
    assert {pe: str(found[pe]) for pe in others} == dict.fromkeys(others, f"PE {victim} is lost: {HOW}")


def test_the_end_of_a_pe_that_has_left_is_no_loss(job: str, start: Callable[..., Hub]) -> None:
    started = start()
    links = connect(job, *range(N))
    leaving = [threading.Thread(target=links[pe].leave, args=(LIMIT,)) for pe in (1, 2)]
    for thread in leaving:
        thread.start()
    assert wait_until(lambda: links[0].left == {1, 2})
    for pe in (1, 2):
        started.ended(pe, "exited with status 0")
    links[0].leave(LIMIT)
    for thread in leaving:
        thread.join(LIMIT)
    assert not any(links[pe].lost for pe in range(N))
    close(*links.values())


def has_sent_that_it_leaves(link: Links) -> bool:
    with link._changed:  # `leave` sends before it gives up the lock
        return link._leaving


def test_what_a_pe_sent_before_its_end_counts(job: str, start: Callable[..., Hub]) -> None:
    """The report may come while the last messages of the PE are still unread."""
    go_on, started = threading.Event(), start()
    started.on_lost = lambda: go_on.wait(LIMIT)
    links = connect(job, *range(N))
    links[2].close(FAILED)  # the hub reports the loss of PE 2, and handles nothing meanwhile
    leaving = threading.Thread(target=links[1].leave, args=(LIMIT,))
    leaving.start()
    assert wait_until(lambda: has_sent_that_it_leaves(links[1]))
    started.ended(1, "exited with status 0")
    go_on.set()
    assert wait_until(lambda: 1 in links[0].left)
    assert set(links[0].lost) == {2}
    close(links[0])
    leaving.join(LIMIT)
    close(links[1])


def test_pes_whose_init_has_failed_meet_again(job: str, start: Callable[..., Hub]) -> None:
    start()
    links = connect(job, *range(N))
    for turn in range(3):
        links[turn].close(FAILED)
        others = [links[pe] for pe in range(N) if pe != turn]
        for each in others:
            assert_lost(each, turn, FAILED)
        close(*others)
        links = connect(job, *range(N))
        in_threads([(check_round, each, turn) for each in links.values()])
        assert not any(each.lost for each in links.values())
    close(*links.values())


def test_a_process_that_has_ended_is_missed_in_a_second_init_too(job: str, start: Callable[..., Hub]) -> None:
    started = start()
    links = connect(job, *range(N))
    started.ended(2, HOW)
    close(*links.values())
    found = connect(job, 0, 1)
    assert [str(found[pe]) for pe in (0, 1)] == [f"PE 2 is lost: {HOW}"] * 2


def test_only_the_process_that_was_a_pe_may_be_it_again(job: str, start: Callable[..., Hub]) -> None:
    start()
    links = connect(job, *range(N))
    links[1].close(FAILED)
    assert wait_until(lambda: 1 in links[0].lost)
    command = [sys.executable, str(program("hello")), wire.address(job)[1:], wire.hello(job, 1, N).pack().hex(), "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=OF_JOB, check=True)
    answer = wire.parse(bytes.fromhex(done.stdout))
    assert (answer.kind, answer.payload) == (Kind.REFUSED, b"PE 1 has joined before")
    close(*links.values())


def test_the_hub_of_several_nodes_tells_its_port() -> None:
    """Two hubs at a time: a port that is found before it is listened at may be another one's by then."""
    places = [wire.Place(["127.0.0.1"], 0, 0.0, uuid.uuid4().hex) for _ in range(2)]
    hubs = [Hub(place.name(), N) for place in places]
    for each, place in zip(hubs, places):
        links = connect(each.job, *range(N))
        assert all(isinstance(found, Links) for found in links.values()), (place, links)
        close(*links.values())
        each.close()


def test_a_closed_connection_of_a_process_that_goes_on_is_a_loss(job: str, start: Callable[..., Hub]) -> None:
    start(patience=0.2)
    links = connect(job, *range(N))
    links[1].close()
    assert wait_until(lambda: 1 in links[0].lost and 1 in links[2].lost, NOTICE)
    assert "closed its connection without leaving" in links[0].lost[1]
    close(*links.values())
