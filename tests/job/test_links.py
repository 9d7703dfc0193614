"""The connections among PEs: real processes, deaths, foreign processes, damaged messages."""

from __future__ import annotations

import array
import contextlib
import gc
import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
import uuid
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

import ishmem  # noqa: F401
from ishmem.common.errors import IshmemError, PeerLost, StateError
from ishmem.ipc import hub, wire
from ishmem.ipc.links import Links
from ishmem.ipc.wire import Kind, Message, MessageError

LIMIT = 20.0  # seconds for what threads of this process do
OF_JOB = 60.0  # seconds for a job, which starts processes
NOTICE = 10.0  # a death must be known everywhere within this time, also on a busy machine

context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["ishmem.ipc.links", "hypothesis", "pytest"])


@pytest.fixture
def job():
    return uuid.uuid4().hex


def _child(out, target, job, pe, n_pes, args):
    try:
        out.send(("ok", target(job, pe, n_pes, *args)))
    except BaseException as error:
        out.send((type(error).__name__, str(error)))


def run(target, job, n_pes, *args):
    """Run ``target(job, pe, n_pes, *args)`` in a process for each PE; return the results."""
    ends, processes, answers = {}, {}, {}
    for pe in range(n_pes):
        ends[pe], out = context.Pipe(duplex=False)
        arguments = (out, target, job, pe, n_pes, args)
        processes[pe] = context.Process(target=_child, args=arguments, daemon=True)
        processes[pe].start()
        out.close()
    for pe, end in ends.items():
        try:
            answers[pe] = end.recv() if end.poll(LIMIT) else ("hung", None)
        except EOFError:
            answers[pe] = ("died", None)
    for process in processes.values():
        process.join(5)
        process.kill()
    return answers


def open_files():
    """Return the open descriptors with what they are; threads of earlier tests may still close some of theirs."""
    gc.collect()  # or file descriptors of earlier tests may be closed while this one looks
    gc.freeze()  # what earlier tests have left takes seconds to go through
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            found.add((path.name, os.readlink(path)))
    return found


def memfd(content):
    fd = os.memfd_create("test")
    os.write(fd, content)
    return fd


def wait_until(condition, limit=NOTICE):
    end = time.monotonic() + limit
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.005)
    return met


# ---- collectives


def check_round(links, turn):
    fds = [memfd(b"%d.%d" % (links.pe, i)) for i in range((links.pe + turn) % 3)]
    parts = links.allgather(bytes([links.pe]) * (turn * 37 + links.pe), fds, LIMIT)
    for pe, (payload, received) in enumerate(parts):
        assert payload == bytes([pe]) * (turn * 37 + pe)
        assert [os.pread(fd, 9, 0) for fd in received] == [b"%d.%d" % (pe, i) for i in range((pe + turn) % 3)]
        wire.close_fds(received)
    wire.close_fds(fds)


def pe_rounds(job, pe, n_pes):
    before = open_files()
    links = Links.connect(job, pe, n_pes, LIMIT)
    for turn in range(50):
        check_round(links, turn)
    assert not any(os.get_inheritable(fd) for fd in sockets() if fd > 2)
    links.leave(LIMIT)
    links.close()
    links.close()
    wait_until(lambda: open_files() <= before)  # the hub ends after the last PE
    return len(open_files() - before)


def sockets():
    found = set()
    for fd in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                found.add(fd)
    return found


@pytest.mark.parametrize("n_pes", [1, 2, 3, 4])
def test_many_rounds_with_fds(job, n_pes):
    assert run(pe_rounds, job, n_pes) == dict.fromkeys(range(n_pes), ("ok", 0))


@pytest.mark.slow("test_many_rounds_with_fds")
def test_64_pes_of_4_kib(job):
    before = open_files()
    with Held(*pair(job, 64)) as all_links:
        for turn in (110, 111):
            in_threads([(check_round, links, turn) for links in all_links])
    assert wait_until(lambda: open_files() <= before)


def in_threads(calls):
    threads = [threading.Thread(target=target, args=args) for target, *args in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()


def test_one_pe_needs_no_socket(job):
    before = sockets()
    with Held(Links.connect(job, 0, 1, 1)) as links:
        assert sockets() == before
        payload, fds = links.allgather(b"me", [0])[0]
        assert (payload, len(fds)) == (b"me", 1)
        wire.close_fds(fds)
        links.leave(1)


class Held:
    """Closes connections at the end of a block."""

    def __init__(self, *links):
        self.links = links

    def __enter__(self):
        return self.links[0] if len(self.links) == 1 else self.links

    def __exit__(self, *_):
        for links in self.links:
            links.close()


def connect(job, n_pes, *pes, timeout=LIMIT, **keywords):
    """Connect PEs of a job, all in this process; return the connection or the error of each."""
    found = {}

    def one(pe):
        try:
            found[pe] = Links.connect(job, pe, n_pes, timeout, **keywords)
        except IshmemError as error:
            found[pe] = error

    in_threads([(one, pe) for pe in pes])
    return found


def pair(job, n_pes=2):
    """Return the connections of all PEs of a job."""
    found = connect(job, n_pes, *range(n_pes))
    return [found[pe] for pe in range(n_pes)]


def test_limits_and_states(job):
    for pe, n_pes in [(2, 2), (-1, 2), (0, 0), (0, 1 << 20)]:
        with pytest.raises(ValueError, match="PE"):
            Links.connect(job, pe, n_pes, 1)
    links = Links.connect(job, 0, 1, 1)
    with pytest.raises(ValueError, match="at most"):
        links.allgather(bytes(wire.MAX_PAYLOAD + 1))
    with pytest.raises(ValueError, match="at most"):
        links.allgather(b"", [0] * (wire.MAX_FDS + 1))
    assert len(links.allgather(bytes(wire.MAX_PAYLOAD))[0][0]) == wire.MAX_PAYLOAD
    links.leave(1)
    for call in (links.allgather, lambda _: links.leave()):
        with pytest.raises(StateError):
            call(b"")
    links.close()


# ---- PEs that do not come


@pytest.mark.parametrize(("pes", "names"), [([0, 1], "PE 2"), ([1, 2], "PE 0"), ([0], "PEs 1, 2")])
def test_a_pe_that_never_starts(job, pes, names):
    found = connect(job, 3, *pes, timeout=1.0)
    assert {str(found[pe]) for pe in pes} == {f"{names} did not arrive in init within 1 s"}


def pe_late(job, pe, n_pes, late):
    links = Links.connect(job, pe, n_pes, LIMIT)
    if pe == late:
        time.sleep(1.5)
    try:
        links.allgather(b"", [0], 0.5, "barrier_all")
        outcome = "completed"
    except IshmemError as error:
        outcome = str(error)
    check_round(links, 5)
    links.leave(LIMIT)
    links.close()
    return outcome


@pytest.mark.parametrize("late", [0, 2])
def test_a_late_pe_fails_the_round_for_all_and_the_job_goes_on(job, late):
    text = f"PE {late} did not arrive in barrier_all within 0.5 s"
    assert run(pe_late, job, 3, late) == dict.fromkeys(range(3), ("ok", text))


# ---- PEs that die or leave


def pe_killed(job, pe, n_pes, victim, idle):
    told = []
    links = Links.connect(job, pe, n_pes, LIMIT, on_lost=lambda lost, how: told.append((lost, how)))
    check_round(links, 2)
    if pe == victim:
        time.sleep(0 if idle else 0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    assert not idle or wait_until(lambda: told)
    for _ in range(2):
        with pytest.raises(PeerLost, match=f"PE {victim} is lost") as caught:
            links.allgather(b"x", [0], LIMIT)
        assert wait_until(lambda: told)
    links.leave(LIMIT)
    links.close()
    return caught.value.pe, told[0][0], "ended without leaving" in told[0][1]


@pytest.mark.parametrize(
    ("n_pes", "victim", "idle"), [(4, 0, False), (4, 1, False), (4, 3, False), (3, 0, True), (3, 2, True)]
)
def test_killed(job, n_pes, victim, idle):
    answers = run(pe_killed, job, n_pes, victim, idle)
    assert answers.pop(victim) == ("died", None)
    assert set(answers.values()) == {("ok", (victim, victim, True))}


def pe_killed_in_init(job, pe, n_pes):
    if pe == 1:
        connection = wire.new_socket()
        while connection.connect_ex(wire.address(job)):
            time.sleep(0.01)
        wire.send(connection, wire.hello(job, pe, n_pes))
        assert wait_until(lambda: has_message(connection))
        os.kill(os.getpid(), signal.SIGKILL)
    if pe == 2:
        time.sleep(0.5)
    Links.connect(job, pe, n_pes, LIMIT / 4)


def has_message(connection):
    with contextlib.suppress(BlockingIOError):
        return wire.receive(connection) is not None
    return False


@pytest.mark.slow("test_faults.py::test_death")
def test_killed_in_init(job):
    answers = run(pe_killed_in_init, job, 3)
    assert answers[0][0] == "PeerLost"
    assert answers[1][0] == "died"
    assert answers[2][0] in ("PeerLost", "IshmemError")


def pe_leave(job, pe, n_pes):
    gone = []
    links = Links.connect(job, pe, n_pes, LIMIT, on_left=gone.append)
    links.on_lost = lambda lost, how: gone.append((lost, how))
    time.sleep(0.2 * (n_pes - pe))
    if pe == 0:
        assert gone == [2, 1]
        with pytest.raises(PeerLost, match="PE 1 has left"):
            links.allgather(b"")
    links.leave(LIMIT)
    links.close()
    return sorted(gone)


def test_leaving_is_no_death(job):
    assert run(pe_leave, job, 3) == {pe: ("ok", sorted({0, 1, 2} - {pe})) for pe in range(3)}


def pe_leave_last(job, pe, n_pes):
    """PE 0 leaves last, and its process, in which the hub runs, ends at once; the hub is slow."""
    lost, handle = [], hub.Hub._handle

    def slow(self, session, message, fds):
        time.sleep(0.3 * (message == Message(Kind.LEFT, 0)))
        handle(self, session, message, fds)

    hub.Hub._handle = slow
    links = Links.connect(job, pe, n_pes, LIMIT, lambda lost_pe, how: lost.append((lost_pe, how)))
    assert pe or wait_until(lambda: len(links.left) == n_pes - 1)
    links.leave(LIMIT)
    links.close()
    return lost


def test_the_process_of_the_hub_may_end_when_it_has_left(job):
    assert run(pe_leave_last, job, 3) == {pe: ("ok", []) for pe in range(3)}


def test_leave_names_those_missing(job):
    with Held(*pair(job, 3)) as (first, second, _):
        in_threads([(expect_leave_timeout, first, "PE 2 did"), (expect_leave_timeout, second, "PE 2 did")])


def expect_leave_timeout(links, text):
    with pytest.raises(IshmemError, match=text):
        links.leave(0.5)


def test_leave_does_not_wait_for_the_dead(job):
    with Held(*pair(job, 3)) as (first, second, third):
        third.close()
        in_threads([(first.leave, LIMIT), (second.leave, LIMIT)])
        assert set(first.lost) == set(second.lost) == {2}


def test_close_ends_a_waiting_call(job):
    with Held(*pair(job)) as (first, _):
        threading.Timer(0.2, first.close).start()
        with pytest.raises(StateError):
            first.allgather(b"", [0])


def test_a_forked_child_does_not_hide_a_death(job):
    with Held(*pair(job)) as (first, second):
        child = os.fork()
        if child == 0:
            time.sleep(LIMIT)
            os._exit(0)
        try:
            second.close()
            assert wait_until(lambda: 1 in first.lost)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_a_failing_callback_is_logged(job, caplog):
    with Held(*pair(job, 3)) as (first, second, third):
        first.on_lost = lambda pe, how: 1 // 0
        third.close()
        assert wait_until(lambda: "ZeroDivisionError" in caplog.text)
        second.close()
        assert wait_until(lambda: 1 in first.lost)


# ---- strangers and damage


def packed(message, **fields):
    return message._replace(**fields).pack()


def raw(connection, data, fds=()):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    connection.sendmsg([data], rights)


def strangers(job):
    """Yield what strangers send as first message, with file descriptors, and a word of the refusal."""
    good = wire.hello(job, 1, 3)
    yield b"x", [], "shorter"
    yield b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n\r\n", [], "not an ishmem message"
    yield good.pack()[:-1], [], "payload"
    yield good.pack() + b"x", [], "payload"
    yield good.pack()[:4] + b"\x63\x00" + good.pack()[6:], [], "version 99"
    yield bytes(200_000), [], "more than"
    yield good.pack(), [0, 1], "2 file descriptors"
    yield packed(good, n_fds=3), [0], "1 file descriptors"
    yield packed(Message(Kind.PART, 1), n_fds=2), [0, 1], "not a HELLO"
    yield packed(good, kind=77), [], "kind"
    yield packed(good, pe=3), [], "PE 3 cannot"
    yield packed(good, pe=1 << 20), [], "out of range"
    yield wire.hello(job, 1, 2).pack(), [], "job of 2 PEs"
    yield wire.hello("another", 1, 3).pack(), [], "another job"
    yield packed(good, payload=b""), [], "not a HELLO"
    yield good.pack(), [0] * 100, "lost"


def visit(job, data, fds):
    """Send ``data`` as a stranger and return the hub's answer."""
    with wire.new_socket() as connection:
        while connection.connect_ex(wire.address(job)):
            time.sleep(0.005)
        with contextlib.suppress(BrokenPipeError):  # refused already
            raw(connection, data, fds)
        connection.settimeout(LIMIT)
        return connection.recv(1 << 16)


def has_joined(job, pe):
    return any(found.job == job and pe in found._session.peers for found in list(hub._alive))


def test_strangers_are_refused_and_the_job_goes_on(job, caplog):
    caplog.set_level(logging.WARNING, "ishmem")
    found = {}

    def connect(pe):
        found[pe] = Links.connect(job, pe, 3, LIMIT)

    before = open_files()
    first = threading.Thread(target=connect, args=(0,))
    first.start()
    second = threading.Thread(target=connect, args=(1,))
    second.start()
    for data, fds, word in strangers(job):
        answer = wire.parse(visit(job, data, fds))
        assert answer.kind == Kind.REFUSED
        assert word in answer.payload.decode()
        assert word in caplog.text
    assert wait_until(lambda: has_joined(job, 1))
    with pytest.raises(IshmemError, match="PE 1 has joined before"):
        Links.connect(job, 1, 3, LIMIT)
    silent = [wire.new_socket() for _ in range(70)]
    for connection in silent:
        connection.connect(wire.address(job))
    connect(2)
    first.join(LIMIT)
    second.join(LIMIT)
    with wire.new_socket() as late, pytest.raises(ConnectionRefusedError):
        late.connect(wire.address(job))
    in_threads([(check_round, links, 4) for links in found.values()])
    for connection in [*silent, *found.values()]:
        connection.close()
    assert wait_until(lambda: open_files() <= before)


def test_only_one_hub(job):
    with Held(*pair(job, 1)), wire.new_socket() as squatter:
        squatter.bind(wire.address(job))
        with pytest.raises(IshmemError, match="running already"):
            Links.connect(job, 0, 2, 1)


def after_admission():
    """Yield what an admitted PE 1 must not send, with file descriptors, and a word of the loss."""
    yield b"junk", [0], "shorter"
    yield b"", [0], "shorter"
    yield Message(Kind.PART, 2, 1).pack(), [], "speaks for PE 2"
    yield Message(Kind.PART, 1, 0).pack(), [], "part 0 of PE 1 twice"
    yield Message(Kind.PART, 1, 1 << 40).pack(), [], "the job is at"
    yield Message(Kind.PART, 1, 1, n_fds=1).pack(), [0, 1], "2 file descriptors"
    yield Message(Kind.PART, 1, 0, n_fds=1).pack(), [0], "twice"
    yield Message(Kind.PART, 1, 1, b"x" * (wire.MAX_PAYLOAD + 1)).pack(), [0], "more than"
    yield Message(Kind.LOST, 1).pack(), [], "LOST"
    yield Message(Kind.HELLO, 1).pack(), [], "HELLO"
    yield Message(Kind.ABORT, 1, 1 << 63, b"gone").pack(), [], "the job is at"
    yield Message(Kind.EXIT, 1, 256).pack(), [], "exit status 256"
    yield Message(Kind.EXIT, 2, 0).pack(), [], "speaks for PE 2"
    yield Message(Kind.LEFT, 0).pack(), [], "speaks for PE 0"
    yield Message(Kind.LEFT, 1, n_fds=1).pack(), [0], "file descriptors"
    yield Message(Kind.REFUSED, 1).pack(), [], "REFUSED"
    yield wire.welcome("job", 1).pack(), [], "WELCOME"


@pytest.mark.parametrize(("data", "fds", "word"), list(after_admission()))
def test_a_pe_that_sends_nonsense_is_lost(job, data, fds, word):
    before, ended = open_files(), []
    with Held(*pair(job, 3)) as (first, second, third):
        first.on_exit = third.on_exit = ended.append
        raw(second._hub, data, fds)
        assert wait_until(lambda: 1 in first.lost and 1 in third.lost)
        assert word in first.lost[1] and not ended
        assert first.lost[1] == third.lost[1]
        for links in (first, third):
            with pytest.raises(PeerLost, match="PE 1"):
                links.allgather(b"")
    assert wait_until(lambda: open_files() <= before)


def test_another_user_is_refused(job, monkeypatch, caplog):
    with pytest.raises(MessageError, match="of user"):
        wire.check_user(os.geteuid() + 1)
    wire.check_user(os.geteuid())
    monkeypatch.setattr(wire, "peer_process", lambda connection: (1, os.geteuid() + 1))
    started = hub.start(job, 2)
    assert wire.parse(visit(job, b"", ())).kind == Kind.REFUSED
    with pytest.raises(MessageError, match="of user"):
        Links.connect(job, 1, 2, 1)
    started.close()
    assert "refused a connection" in caplog.text


messages = st.builds(
    Message,
    st.sampled_from(Kind),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
    st.binary(max_size=80),
    st.integers(0, 2**32 - 1),
)


@given(messages, st.integers(0, 100))
@example(Message(Kind.PART, 1, 1, b"ab", 3), 3)
def test_every_message_parses_back_or_is_refused(message, n_fds):
    with contextlib.suppress(MessageError):
        parsed = wire.parse(message.pack(), n_fds)
        assert parsed == message
        assert parsed.n_fds == n_fds


@given(messages, st.integers(0, 200), st.binary(min_size=1, max_size=6), st.integers(0, 2))
def test_damaged_messages_are_no_crash(message, at, damage, n_fds):
    data = message.pack()
    parse_or_refuse(data[:at] + damage + data[at + len(damage) :], n_fds)
    parse_or_refuse(data[:at], n_fds)


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(data):
    parse_or_refuse(data, 0)


def parse_or_refuse(data, n_fds):
    with contextlib.suppress(MessageError):
        message = wire.parse(data, n_fds)
        assert message.pack() == data
        wire.check_hello(message, "job", 4)


@given(st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1), st.binary(max_size=40))
def test_hello_of_a_stranger(pe, n_pes, payload):
    for message in (wire.hello("job", pe, n_pes), Message(Kind.HELLO, pe, 0, payload)):
        try:
            assert wire.check_hello(message, "job", 4) in range(4)
        except MessageError:
            assert (message.payload == payload) or pe in range(4, 1 << 16) or n_pes != 4
