"""``ISHMEM_TRACE``, ``ISHMEM_STATS``, ITT tasks and ``ishmem trace``: one traced job, read in several ways."""

from __future__ import annotations

import json
import re
import sys
import types
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from subprocesses import program, run_program, succeeded

from ishmem.cli import trace, trace_data, trace_summary, trace_traffic
from ishmem.cli.command import main
from ishmem.cli.trace_data import RecordedCall
from ishmem.runtime import graph_recording, itt
from ishmem.runtime.trace_file import QUEUE

N = 2


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a traced job, and what it has printed."""
    folder = tmp_path_factory.mktemp("trace") / "new" / "traces"
    done = run_program(program("traced_calls"), N, env={"ISHMEM_STATS": "1"}, options=["--trace", str(folder)])
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stderr


@pytest.fixture(scope="module")
def read(job: tuple[Path, str]) -> trace_data.Trace:
    return trace_data.read(job[0])


def named(read: trace_data.Trace, name: str, pe: int = 0) -> list[RecordedCall]:
    return [call for call in read.calls if call.name == name and call.pe == pe]


# ---- the files


def events_of(path: Path) -> list[dict[str, Any]]:
    found = json.loads(path.read_text())
    assert set(found) == {"traceEvents", "displayTimeUnit", "otherData"}
    return found["traceEvents"]


def check_format(events: list[dict[str, Any]]) -> None:
    """Check events against the Trace Event Format."""
    for event in events:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert isinstance(event["name"], str) and event["ph"] in "XMsfbe"
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "process_sort_index", "thread_name", "thread_sort_index")
            continue
        assert event["ts"] >= 0
        assert isinstance(event["cat"], str)
        assert event["ph"] != "X" or event["dur"] >= 0
        assert event["ph"] not in "sfbe" or isinstance(event["id"], str)
        assert event["ph"] != "f" or event["bp"] == "e"
    arrows = Counter((event["ph"], event["cat"], event["id"]) for event in events if event["ph"] in "sfbe")
    assert set(arrows.values()) == {1}
    for phase, other in ("sf", "be"):
        keys = {key[1:] for key in arrows if key[0] == phase}
        assert keys and keys == {key[1:] for key in arrows if key[0] == other}


def check_slices(events: list[dict[str, Any]]) -> None:
    """Check that the slices of a track come in order and do not overlap, and that arrows begin and end in slices."""
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in events:
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    for spans in tracks.values():
        ordered = sorted(spans)
        assert all(one[1] <= other[0] + 0.01 for one, other in zip(ordered, ordered[1:]))
    for event in events:
        if event["ph"] in "sf":
            spans = tracks[event["pid"], event["tid"]]
            assert any(begin - 0.01 <= event["ts"] <= end + 0.01 for begin, end in spans)


def test_the_merged_trace_has_all_pes_and_arrows(read: trace_data.Trace) -> None:
    found = json.loads(json.dumps(trace_data.merged(read)))
    events = found["traceEvents"]
    check_format(events)
    check_slices(events)
    times = [event["ts"] for event in events if "ts" in event]
    assert times == sorted(times) and min(times) == 0
    assert {event["pid"] for event in events} == set(range(N))
    waited = [event for event in events if event["name"] == "signal_wait_until"]
    assert [event["args"]["waited for"] for event in waited] == [f"PE {(event['pid'] - 1) % N}" for event in waited]
    ended = [event for event in events if event["name"] == "ends the wait"]
    assert len(ended) == 2 * 2 * N  # put_signal on the host and on queues


# ---- what is recorded


def test_calls_have_their_arguments(read: trace_data.Trace) -> None:
    for pe in range(N):
        right = (pe + 1) % N
        puts = named(read, "put", pe)
        assert [(call.arguments["pe"], call.arguments["bytes"]) for call in puts[:5]] == [(right, 8000)] * 5
        assert puts[5].arguments["raised"] and len(puts) == 6
        assert [call.arguments["bytes"] for call in named(read, "get", pe)] == [80]
        assert [call.arguments["bytes"] for call in named(read, "Ctx.put", pe)] == [24]
        (sent,), (waited,) = named(read, "put_signal", pe), named(read, "signal_wait_until", pe)
        assert (sent.arguments["bytes"], sent.arguments["value"]) == (160, 1)
        assert (waited.arguments["cmp"], waited.arguments["value"]) == ("EQ", 1)
        assert sent.arguments["at"] == waited.arguments["at"]
        (reduced,) = named(read, "sum_reduce", pe)
        assert (reduced.arguments["team"], reduced.arguments["bytes"]) == (f"0:1:{N}", 40)
        assert [call.name for call in read.of(pe)][::len(read.of(pe)) - 1] == ["init", "finalize"]
    assert [call.arguments["bytes"] for call in named(read, "atomic_add") + named(read, "iput")] == [4, 12]


def test_work_on_queues_is_submitted_and_executed(read: trace_data.Trace) -> None:
    for pe in range(N):
        submitted, executed = sorted(named(read, "put_signal_on_queue", pe), key=lambda call: call.track)
        assert executed.track >= QUEUE > submitted.track
        assert executed.end >= submitted.begin
        assert executed.arguments == submitted.arguments
        assert executed.arguments["bytes"] == 800


def test_launches_of_kernels_are_named(read: trace_data.Trace) -> None:
    for pe in range(N):
        (launch,), (begun,) = named(read, "call_kernel(send)", pe), named(read, "call_kernel_async(send)", pe)
        assert "kernels" in launch.categories & begun.categories
        executed = [event for event in read.events if event["pid"] == pe and event["ph"] in "be"]
        assert [event["name"] for event in executed] == ["call_kernel_async(send)"] * 2


def test_waits_know_for_whom(read: trace_data.Trace) -> None:
    for update, wait in read.arrows:
        assert (update.pe + 1) % N == wait.pe == update.arguments["pe"]
        assert "wait" not in wait.categories or wait.cause == update.pe
    barriers = [named(read, "barrier_all", pe)[0] for pe in range(N)]
    last = max(barriers, key=lambda call: call.begin)
    for call in barriers:
        assert call.cause in (None, last.pe)
        assert call.waited == pytest.approx(max(min(call.end, last.begin) - call.begin, 0))


def test_the_bytes_between_pes_are_those_of_the_program(read: trace_data.Trace) -> None:
    found = trace_traffic.between(read)[trace_traffic.ONE_SIDED]
    for pe in range(N):
        right = (pe + 1) % N
        sent = 5 * 8000 + 160 + 800 + 24 + (4 + 12) * (pe == 0)
        assert found[pe][right] == sent + 80  # what the neighbour has got
    assert sum(map(sum, found)) == N * (5 * 8000 + 160 + 800 + 24 + 80) + 16

MOVED = {  # rows: from PE, columns: to PE; i4 has 4 bytes
    "broadcast": [[0, 0, 0], [48, 0, 48], [40, 40, 0]],
    "fcollect": [[0, 20, 20], [20, 0, 20], [20, 20, 0]],
    "collect": [[0, 4, 4], [8, 0, 8], [12, 12, 0]],
    "alltoall": [[0, 16 + 8, 16 + 8], [16 + 8, 0, 16 + 8], [16 + 8, 16 + 8, 0]],
    "alltoalls": [[0, 4, 4], [4, 0, 4], [4, 4, 0]],
    "gather": [[0, 12, 0], [48, 0, 0], [48, 12, 0]],
    "scatter": [[0, 48, 48], [12, 0, 12], [0, 0, 0]],
    "sum_inscan": [[0, 48, 48], [0, 0, 48], [0, 0, 0]],
    "max_reduce_on_queue": [[0, 4, 4], [4, 0, 4], [4, 4, 0]],
    "sum_reduce": [[0, 0, 20], [0, 0, 0], [20, 0, 0]],
    "scatter_on_queue": [[0, 0, 0], [0, 0, 0], [24, 0, 0]],
}


def test_the_bytes_of_collectives_are_those_of_their_definition(tmp_path: Path) -> None:
    done = succeeded(run_program(program("traced_collectives"), 3, env={"ISHMEM_TRACE": str(tmp_path)}))
    read = trace_data.read(tmp_path)
    for name, expected in MOVED.items():
        calls = [call for call in read.calls if call.name == name]
        assert trace_traffic.between(replace(read, calls=calls)) == {trace_traffic.COLLECTIVE: expected}, name
    assert trace_traffic.between(read) == {trace_traffic.COLLECTIVE: np.sum(list(MOVED.values()), axis=0).tolist()}
    assert trace_traffic.left_out(read) == ["alltoallv"]
    assert [call.arguments.get("root") for call in named(read, "broadcast")] == [2, 1, None]
    done = CliRunner().invoke(trace.command, [str(tmp_path)], env={"COLUMNS": "160"})
    assert "Collectives: bytes" in done.output and "their counts or members: alltoallv" in done.output


def test_calls_of_a_team_without_a_stride_belong_together_and_are_named_as_left_out(tmp_path: Path) -> None:
    options = ["--survive", "--trace", str(tmp_path)]
    succeeded(run_program(program("traced_survivors"), 4, options=options))
    read = trace_data.read(tmp_path)
    teams = {pe: call.arguments["team"] for pe in (0, 2, 3) for call in named(read, "sum_reduce", pe)}
    assert len(teams) == 3 and len(set(teams.values())) == 1 and teams[0].endswith(":0:3")
    assert trace_traffic.between(read) == {} and trace_traffic.left_out(read) == ["sum_reduce"]


def test_a_folder_that_cannot_be_written_is_an_error_without_a_traceback(
    job: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    (job[0] / trace.MERGED).mkdir()
    with pytest.raises(SystemExit, match="2"):
        main(["trace", str(job[0])])
    (job[0] / trace.MERGED).rmdir()
    assert re.search(r"^ishmem: .*trace\.json", capsys.readouterr().err, re.MULTILINE)


@pytest.mark.skipif(not graph_recording.HAS_GRAPHS, reason="this SYCL has no graphs")
def test_replays_tell_what_was_recorded(tmp_path: Path) -> None:
    """A kernel, a put and two sums of 10 elements of 4 bytes; the simulator counts the driver's calls."""
    env = {"ISHMEM_DEVICE": "sim", "SYCL_UR_USE_LEVEL_ZERO_V2": "1"}
    succeeded(run_program(program("traced_replays"), N, env=env, options=["--trace", str(tmp_path)]))
    read = trace_data.read(tmp_path)
    (found,) = trace_summary.replays(read).values()
    assert len(found) == 5 * N and not any("unfinished" in call.arguments for call in found)
    wanted = {"graph": 1, "nodes": 4, "launches": 3, "bytes": 120, "driver calls": 1}
    for call in [*found, *named(read, "Graph.replay", 1)]:
        assert {key: call.arguments[key] for key in wanted} == wanted
    assert [call.arguments["bytes"] for call in named(read, "Communicator.all_reduce")] == [40, 40]
    shown = CliRunner().invoke(trace.command, [str(tmp_path)], env={"COLUMNS": "200"})
    assert re.search(r"graph +replays .* launches +copies +driver calls +bytes", shown.output)
    assert re.search(r"^ *1 +10 .* 3 +1 +1 +120 bytes", shown.output, re.M), shown.output


def test_routines_are_counted(read: trace_data.Trace) -> None:
    found = {each.name: each for each in trace_summary.routines(read)}
    assert (len(found["put"].calls), found["put"].nbytes) == (6 * N, 6 * N * 8000)
    assert (len(found["put_signal_on_queue"].calls), found["put_signal_on_queue"].nbytes) == (N, N * 800)


def test_times_add_up(read: trace_data.Trace) -> None:
    for time in trace_summary.pes(read):
        calls = read.of(time.pe)
        assert time.worked + time.waited == pytest.approx(calls[-1].begin - calls[0].end)
        assert sum(time.causes.values()) <= time.waited + 1e-9


# ---- the command


def test_the_command_prints_a_summary_and_writes_the_timeline(job: tuple[Path, str]) -> None:
    done = CliRunner().invoke(trace.command, [str(job[0])], env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    assert re.search(rf"^ ?call_kernel\(send\) +{N} ", done.output, re.MULTILINE)
    assert re.search(r"\nCollectives: bytes [^─]*─+ *\n +0 +- +40 bytes", done.output)
    assert "own code" in done.output and re.search(r"^ ?0 .*\b41\.1 kB", done.output, re.MULTILINE)
    check_format(events_of(job[0] / "trace.json"))


def test_a_folder_without_a_trace_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(trace_data.IshmemError, match="has no trace; write one with `ishmem run"):
        trace_data.read(tmp_path)


def test_statistics_are_printed_by_each_pe(job: tuple[Path, str]) -> None:
    for pe in range(N):
        assert re.search(rf"^\[{pe}\] PE {pe} of {N}: [\d.]+ s, [\d.]+ s of it in \d+ calls$", job[1], re.MULTILINE)
    assert len(re.findall(r"  call_kernel  +1 calls +[\d.]+ s$", job[1], re.MULTILINE)) == N


def test_a_killed_pe_loses_only_its_own_file(tmp_path: Path) -> None:
    for pe in (1, 2):
        (tmp_path / f"pe-{pe}.json").write_text("of an earlier job")
    done = run_program(program("killed_while_traced"), 2, env={"ISHMEM_TRACE": str(tmp_path)})
    assert done.returncode == 128 + 9
    assert [path.name for path in tmp_path.iterdir()] == ["pe-0.json"]
    read = trace_data.read(tmp_path)
    assert "PeerLost" in read.facts[0]["ended"]
    assert named(read, "barrier_all")[-1].arguments["raised"]
    done = CliRunner().invoke(trace.command, [str(tmp_path)], env={"COLUMNS": "160"})
    assert "No file of PE 1" in done.output and "PE 0 left early: PeerLost" in done.output


def test_without_a_setting_the_routines_are_the_same_objects() -> None:
    succeeded(run_program(program("routines_without_trace"), 1))


EXAMPLE = Path(__file__).parents[2] / "examples" / "pair_energy.py"


@pytest.mark.parametrize("form", [[], ["--cyclic"]])
def test_the_example_of_the_page_adds_up_all_pairs(form: list[str]) -> None:
    done = succeeded(run_program(EXAMPLE, 3, "--particles", "20", "--steps", "1", *form))
    at = np.random.default_rng(1).random((20, 3))
    wanted = sum(1 / np.linalg.norm(at[i] - at[j]) for i in range(20) for j in range(i))
    assert float(re.search(r"energy ([\d.e+]+),", done.stdout)[1]) == pytest.approx(wanted, rel=1e-5)


# ---- which call ended a wait


def made(origin: int, begin: float, end: float, name: str, **arguments: Any) -> RecordedCall:
    kind = frozenset({"wait"} if "cmp" in arguments else {"signals", "put"})
    return RecordedCall(origin, 0, name, kind, begin, end, {"at": 8, **arguments})


@pytest.mark.parametrize(
    ("updates", "waits", "expected"),
    [
        # the next value is already stored when the wait returns
        ([(1, 1), (2, 2), (3, 3)], [(0, 2.5, "GE", 1), (2.6, 3.5, "GE", 2)], [0, 1]),
        # the flag is stored and reset again and again
        ([(1, 1), (2, 0), (3, 1)], [(0, 1.5, "EQ", 1), (2.5, 3.5, "EQ", 1)], [0, 2]),
        # the reset is not traced
        ([(1, 1), (2, 1)], [(0, 1.5, "EQ", 1), (1.6, 2.5, "EQ", 1)], [0, 1]),
        # nothing that is traced has satisfied it
        ([(1, 1)], [(0, 1.5, "EQ", 2)], []),
        ([], [(0, 1, "EQ", 1)], []),
    ],
)
def test_the_update_that_ended_a_wait(updates: Any, waits: Any, expected: list[int]) -> None:
    stored = [made(1, at, at + 0.1, "signal_set", pe=0, value=value) for at, value in updates]
    waited = [made(0, begin, end, "wait_until", cmp=cmp, value=value) for begin, end, cmp, value in waits]
    found = list(trace_data._arrows(sorted([*stored, *waited], key=lambda call: call.begin)))
    assert [stored.index(update) for update, _wait in found] == expected


def test_the_update_that_completes_a_count() -> None:
    added = [made(pe, pe + 0.5, pe + 0.6, "signal_add", pe=0, value=1, adds=True) for pe in range(4)]
    ((update, _wait),) = trace_data._arrows([made(0, 0, 9, "wait_until", cmp="GE", value=3), *added])
    assert update.pe == 2


# ---- ITT


def test_itt_tasks_are_marked_where_a_collector_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    fake = types.SimpleNamespace(
        domain=lambda name: name, string_handle=lambda name: name,
        task_begin=lambda domain, name: said.append((domain, name)), task_end=said.append,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "ittapi", fake)
    monkeypatch.delenv(itt.COLLECTOR, raising=False)
    assert itt.marks() is None
    monkeypatch.setenv(itt.COLLECTOR, "collector.so")
    mark = itt.marks()
    assert mark and mark(divmod)(7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        mark(divmod)(1, 0)
    assert said == [("ishmem", "divmod"), "ishmem"] * 2
