"""ishmem bench: every case runs and its check fails on wrong data; results, pictures and comparisons; bad options."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from subprocesses import program, run_command

from ishmem.benchmarks import cases, compare, plot, results, runner, show, suite
from ishmem.benchmarks.cases import SIDES, Wrong
from ishmem.benchmarks.command import command, parse_sizes
from ishmem.benchmarks.group import missing
from ishmem.benchmarks.runner import MACHINE, Options, Row
from ishmem.benchmarks.worker import Worker
from ishmem.benchmarks.worlds import Ishmem
from ishmem.common.collective_table import COLLECTIVES
from ishmem.testing import Pes
from tools import figures

BENCH = [sys.executable, "-m", "ishmem", "bench"]
QUICK = ["--batches", "3", "--batch", "0.0003"]
NOTHING_TO_CHECK = {"barrier_all", "fence", "quiet"}

CASES = suite.load()


def points(n: int, *sides: str, ops: tuple[str, ...] = ()) -> list[tuple[str, dict[str, Any]]]:
    """Each case at its two smallest sizes, with all values of the other axes."""
    found = []
    for one in suite.select(ops, sides):
        sizes = one.axes.get("size") or (8, 4096)
        assert isinstance(sizes, tuple)
        for point in one.points(n, (8, 4096), {}):
            if point.get("size", 8) in sizes[:2]:
                found.append((one.key, point))
    return found


# --- the cases


class Nothing(int):
    """What a routine that does nothing returns."""

    def wait(self) -> None: ...


class Idle:
    """A module whose functions do nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **more: Nothing(-1)


def run_plan(worker: Worker, which: str, times: int) -> None:
    plan = worker._given()
    if plan.active is None or worker.world.pe in plan.active:
        worker.run(which, times, 1)


def check_cases(cases: list[tuple[str, dict[str, Any]]], limits: bool) -> None:
    suite.load()
    worker = Worker(Ishmem(joined=True))
    for key, point in cases:
        told = worker.prepare(key, point)
        run_plan(worker, "main", 1)
        worker.verify(1)
        worker.world.barrier()
        if told["limit"] and limits:
            run_plan(worker, "limit", 2)
        run_plan(worker, "main", 2)
        worker.verify(3)
        worker.world.barrier()
        worker.release()


def check_faults(cases: list[tuple[str, dict[str, Any]]]) -> list[bool]:
    """Make the operations do nothing; return for each case whether this PE's check notices."""
    suite.load()
    worker, noticed = Worker(Ishmem(joined=True)), []
    for key, point in cases:
        worker.prepare(key, point)
        names = worker._given().names
        names.update({name: Idle() for name in ("ishmem", "dpex") if name in names})
        run_plan(worker, "main", 1)
        try:
            worker.verify(1)
            noticed.append(False)
        except Wrong:
            noticed.append(True)
        worker.world.barrier()
        worker.release()
    return noticed


@pytest.mark.ishmem([1, 3])  # `test_results_of_a_run` runs them on 2
def test_every_case_of_the_host_runs(ishmem_npes: int) -> None:
    cases = points(ishmem_npes, "host", "queue")
    cases = [each for each in cases if ishmem_npes > 1 or "ping_pong" not in each[0]]
    check_cases(cases, True)


KERNELS = ("device", "group")


@pytest.mark.slow("the chapters' tests")
@pytest.mark.ishmem([2, 3], timeout=120)
@pytest.mark.parametrize(
    ("sides", "ops"),
    [(KERNELS, ()), (("host", "queue"), suite.ON_REQUEST), (KERNELS, ("broadcast", "alltoalls", "sum_reduce")),
     (("device",), ("gatherv", "sum_inscan"))],
    ids=["kernels", "collectives", "collectives in kernels", "others"],
)  # fmt: skip
def test_other_cases_run(ishmem_npes: int, sides: tuple[str, ...], ops: tuple[str, ...]) -> None:
    check_cases(points(ishmem_npes, *sides, ops=ops), False)


# Barriers leave nothing; and_reduce leaves 1 & 8 at the smallest size, which is 0, the initial value.
UNSEEN = (("sync_all/host", {}), ("nodes_barrier/host", {}), ("and_reduce/host", {"size": 8}))


@pytest.mark.ishmem(2)
@pytest.mark.parametrize(
    ("sides", "ops"), [(("host", "queue", *KERNELS), ()), (("host",), suite.ON_REQUEST)], ids=["usual", "collectives"]
)
def test_every_check_fails_when_nothing_was_done(pes: Pes, sides: tuple[str, ...], ops: tuple[str, ...]) -> None:
    cases = points(2, *sides, ops=ops)
    checked = [each for each in cases if each[0].split("/")[0] not in NOTHING_TO_CHECK and each not in UNSEEN]
    noticed = pes.run(check_faults, checked)
    assert [each for each, *flags in zip(checked, *noticed) if not any(flags)] == []


def test_collectives_are_measured_when_they_are_named() -> None:
    named = {one.name for one in suite.select(("collectives",), ("host",))}
    assert named == {*COLLECTIVES, "sync_all"}
    assert named.isdisjoint(one.name for one in suite.select((), ()))
    assert {one.name for one in suite.select(("collectives", "put"), ("host",))} == {*named, "put"}


def test_what_is_measured() -> None:
    measured = {side: {one.name for one in suite.select((), (side,))} for side in SIDES}
    assert measured["host"] >= {"put", "get", "p", "g", "put_nbi", "get_nbi", "iput", "iget", "put_signal", "pairs"}
    assert measured["host"] >= {"atomic_fetch_add", "atomic_compare_swap", "ping_pong", "signal_ping_pong"}
    assert measured["host"] >= NOTHING_TO_CHECK
    assert measured["queue"] >= {"put", "get"}
    assert measured["device"] >= {"put", "get", "p", "g", "atomic_fetch_add", "iput", "put_signal", *NOTHING_TO_CHECK}
    assert measured["group"] >= {"put", "get"}
    assert measured["program"] == {"start"}


# --- the runner


class FakeGroup:
    """PEs that take a given time for each call: PE 1 twice that of PE 0."""

    running = True

    def __init__(self, seconds: float) -> None:
        self.seconds, self.asked = seconds, []  # type: float, list[Any]

    def ask(self, request: Any, pes: Any = None, timeout: float = 60) -> Any:
        self.asked.append(request)
        _verb, _which, number, batches = request
        return [("ok", [factor * number * self.seconds] * batches) for factor in (1, 2)]


def test_the_slowest_pe_counts_and_batches_are_long_enough() -> None:
    group: Any = FakeGroup(1e-6)
    plan: dict[str, Any] = {"statement": "f()", "limit": None, "operations": 4, "nbytes": 8, "active": None}
    plan.update(counted={"main": False}, limit_copies=True)
    row = Row("f", "host", 2, "ishmem", {})
    contestant = runner._Contestant(group, "main", row, plan)
    contestant.calibrate(Options(batch=0.004))
    assert 0.7 * 0.004 <= row.calls * 2e-6 <= 2 * 0.004
    contestant.measure(5, 1)
    contestant.finish()
    assert row.seconds == pytest.approx(dict.fromkeys(("median", "q1", "q3", "min"), 2e-6 / 4))
    assert (row.active, row.batches) == (2, 5)
    assert row.bandwidth == pytest.approx(2 * 8 / (2e-6 / 4))


def test_wrong_elements_are_named() -> None:
    world = Ishmem.__new__(Ishmem)
    world.pe = 3
    with pytest.raises(Wrong, match="PE 3: 1 of 4 elements are wrong; element 2 is 9, not 2"):
        world.expect(np.array([0, 1, 9, 3]), np.arange(4))


@pytest.mark.parametrize(
    ("text", "sizes"),
    [("8", (8,)), ("8,4K", (8, 4096)), ("8:64", (8, 16, 32, 64)), ("8:1K:4", (8, 32, 128, 512)),
     ("4K,8:16,8", (8, 16, 4096)), ("64M", (64 << 20,))],
)  # fmt: skip
def test_sizes_are_parsed(text: str, sizes: tuple[int, ...]) -> None:
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize("text", ["", "x", "8:", "64:8", "8:64:1", "8:64:2:2", "0", "-8"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size; allowed are sizes such as 8"):
        parse_sizes(text)


# --- the command


def bench(*words: str, env: dict[str, str] | None = None, timeout: float = 100) -> subprocess.CompletedProcess[str]:
    return run_command([*BENCH, *words], env=env, timeout=timeout)


def called(*words: str) -> Result:
    return CliRunner().invoke(command, words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--op", "putt"], "no such operation: putt; did you mean put?"),
        (["--side", "gpu"], "no such side: gpu; Allowed are host, queue"),
        (["--op", "fence", "--side", "group"], "no case of fence on the side group"),
        (["--size", "many"], "'many' is not a size; allowed are sizes such as"),
        (["--pes", "0"], "allowed are numbers of PEs, at least 1"),
        (["--axis", "direction"], "allowed is a name with values"),
        (["--axis", "way=one"], "no such axis: way; allowed here are argument, direction"),
        (["--op", "put", "--axis", "direction=up"], "nothing to measure"),
        (["--peers", "nccl"], "no such peer: nccl; allowed are mpi4py and none"),
        (["--batches", "1"], "not in the range"),
        (["--cases", "/nowhere.py"], "does not exist"),
        (["plot", "/nowhere.json"], "does not exist"),
        (["plot", __file__], "does not hold results of ishmem bench"),
    ],
)
def test_wrong_options_are_refused(words: list[str], said: str) -> None:
    result = called(*words)
    assert result.exit_code in (1, 2)
    assert said in result.output


def test_every_case_is_listed() -> None:
    listed = {tuple(line.split()[:2]) for line in called("--list").output.splitlines()}
    for module in suite.ON_REQUEST:
        listed |= {tuple(line.split()[:2]) for line in called("--op", module, "--list").output.splitlines()}
    assert listed == {(one.name, one.side) for one in CASES.values() if not one.name.startswith("tune ")}


@pytest.mark.slow("test_what_goes_wrong_is_shown_and_the_rest_is_measured")
def test_results_of_a_run(tmp_path: Path) -> None:
    """All host cases beside mpi4py."""
    files = ["--json", str(tmp_path / "r.json"), "--csv", str(tmp_path / "r.csv")]
    done = bench("--side", "host", "--size", "8,4K", "--pes", "2", *QUICK, *files)
    assert done.returncode == 0, done.stdout + done.stderr
    head, rows = results.read(tmp_path / "r.json")
    assert head["complete"]
    assert {"date", "cpu", "cores", "device", "commit", "versions", "settings"} <= set(head["environment"])
    assert {row.status for row in rows} <= {"ok", "skipped"}
    own = [row for row in rows if row.contender == "ishmem"]
    assert len(own) == sum(len(list(one.points(2, (8, 4096), {}))) for one in suite.select((), ("host",)))
    assert all(row.seconds["q1"] <= row.seconds["median"] <= row.seconds["q3"] for row in own)
    reason = missing("mpi4py")
    found = [row for row in rows if row.contender == "mpi4py"]
    assert found
    assert {(row.status, row.reason) for row in found} == {("skipped", reason) if reason else ("ok", "")}
    assert len(done.stdout.splitlines()) == 1 + len(own)
    csv = (tmp_path / "r.csv").read_text().splitlines()
    assert len(csv) == 1 + len(rows)
    assert csv[0].startswith("op,side,axes,pes,contender,status,median")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99, "rows": []}', '{"format": 1, "rows": [{}]}'])
def test_files_that_hold_no_results(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match="does not hold results of ishmem bench"):
        results.read(tmp_path / "x.json")


@pytest.mark.slow("test_every_check_fails_when_nothing_was_done")
def test_what_goes_wrong_is_shown_and_the_rest_is_measured(tmp_path: Path) -> None:
    cases, out = program("faulty_cases"), tmp_path / "r.json"
    names = "well,garbled,drifting,senseless,raising,dying,after"
    done = bench("--cases", str(cases), "--op", names, "--json", str(out), "--peers", "none", *QUICK)
    assert done.returncode == 1, done.stdout + done.stderr
    rows = {row.op: row for row in results.read(out)[1]}
    assert {op: row.status for op, row in rows.items()} == {
        "well": "ok", "garbled": "wrong", "drifting": "wrong", "senseless": "skipped", "raising": "failed",
        "dying": "failed", "after": "ok",
    }  # fmt: skip
    assert "1 of 1 elements are wrong; element 0 is 5, not 7" in rows["garbled"].reason
    assert rows["raising"].reason.startswith("ZeroDivisionError")
    assert "exited with status 3" in rows["dying"].reason
    assert "senseless" in done.stdout
    assert "skipped: there is no sense in it" in done.stdout


@pytest.mark.slow("test_bench_group.py")
@pytest.mark.usefixtures("trial")  # it looks for processes that are left
def test_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    process = subprocess.Popen(
        [*BENCH, "--op", "put", "--peers", "none", "--batch", "0.05", "--json", str(out)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline().startswith("operation")
    assert process.stdout.readline().startswith("put")
    process.send_signal(signal.SIGINT)
    text, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "interrupted" in text
    head, rows = results.read(out)
    assert not head["complete"]
    assert rows[0].status == "ok"


# --- pictures, tables and comparisons, of results made by hand


def made(op: str, contender: str, median: float, side: str = "host", pes: int = 2, **axes: Any) -> Row:
    row = Row(op, side, pes, contender, axes, nbytes=axes.get("size", 8), limit="memcpy")
    row.seconds = {"median": median, "q1": 0.95 * median, "q3": 1.05 * median, "min": 0.9 * median}
    return row


def made_rows() -> list[Row]:
    rows = [made("p", contender, 1e-7, direction="one") for contender in ("ishmem", "mpi4py")]
    for size in (8, 4096, 1 << 20):
        for factor, contender in enumerate(("ishmem", "mpi4py", MACHINE), 2):
            rows.append(made("put", contender, factor * (1e-7 + size / 1e10), size=size, direction="one"))
    for origin in range(3):
        for target in range(3):
            for size in (8, 1 << 20):
                axes = {"size": size, "origin": origin, "target": target}
                rows.append(made("pairs", "ishmem", 1e-6 * (1 + origin + target), pes=3, **axes))
    return rows


def write(path: Path, rows: list[Row]) -> str:
    results.write(path, rows, Options(sizes=(8,)), "a device", complete=True)
    return str(path)


@pytest.mark.slow("`make bench`")
def test_plot_writes_each_picture(tmp_path: Path) -> None:
    file = write(tmp_path / "r.json", made_rows())
    result = called("plot", file)
    assert result.exit_code == 0, result.output
    pictures = [tmp_path / f"r-{name}.png" for name in plot.PICTURES]
    assert result.output.split() == [str(path) for path in pictures]
    for path in pictures:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 5000
    result = called("plot", file, "-o", str(tmp_path / "one.png"), "--picture", "pairs")
    assert result.output.strip() == str(tmp_path / "one.png")
    assert (tmp_path / "one.png").exists()


def test_plot_draws_what_there_is(tmp_path: Path) -> None:
    file = write(tmp_path / "r.json", [made("p", "ishmem", 1e-7)])
    result = called("plot", file)
    assert result.exit_code == 0
    assert len(re.findall("no picture of", result.output)) == len(plot.PICTURES)
    assert called("plot", file, "--picture", "pie").exit_code == 2


def test_plot_shows_the_values() -> None:
    figure = plot.draw(made_rows(), "bandwidth")
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert set(lines) == {"ishmem", "mpi4py", MACHINE}
    assert list(np.asarray(lines["ishmem"].get_xdata())) == [8, 4096, 1 << 20]
    seconds = 2 * (1e-7 + 4096 / 1e10)
    assert np.asarray(lines["ishmem"].get_ydata())[1] == pytest.approx(4096 / seconds / 1e9)
    heat = plot.draw(made_rows(), "pairs").axes[0]
    shown = [float(text.get_text()) for text in heat.texts]
    assert shown == [1000 * (1 + origin + target) for origin in range(3) for target in range(3)]


def test_compare_finds_a_slowdown(tmp_path: Path) -> None:
    old = made_rows()
    slowed = [
        replace(row, seconds={name: 1.5 * value for name, value in row.seconds.items()})
        if (row.op, row.contender, row.axes.get("size")) == ("put", "ishmem", 4096)
        else row
        for row in old
    ]
    files = [write(tmp_path / "old.json", old), write(tmp_path / "new.json", slowed)]
    result = called("compare", *files, "--fail")
    assert result.exit_code == 1
    assert re.search(r"^put one +4K +2 .* 1\.50 slower$", result.output, re.MULTILINE)
    assert "1 slower, 21 same" in result.output
    assert called("compare", *files).exit_code == 0
    assert "1 faster, 21 same" in called("compare", *files[::-1]).output
    assert called("compare", *files, "--threshold", "1.6", "--fail").exit_code == 0
    assert "22 same" in called("compare", files[0], files[0], "--fail").output


def test_a_change_within_the_spread_is_none() -> None:
    old, new = made("p", "ishmem", 1.0), made("p", "ishmem", 1.5)
    assert compare.compare([old], [new])[0].verdict == "slower"
    old.seconds["q3"] = 1.45
    assert compare.compare([old], [new])[0].verdict == "same"
    new.seconds, new.status, new.reason = {}, "wrong", "bad data"
    assert compare.compare([old], [new])[0].verdict == "broken"
    assert "wrong: bad data" in compare.compare([old], [new])[0].line()


@pytest.mark.slow("test_what_goes_wrong_is_shown_and_the_rest_is_measured")
def test_compare_measures_again(tmp_path: Path) -> None:
    options = Options(("p",), ("host",), (8,), (1,), batch=0.0003, batches=3)
    results.write(tmp_path / "old.json", [made("p", "ishmem", 1.0, pes=1)], options, "", complete=True)
    done = bench("compare", str(tmp_path / "old.json"))
    assert done.returncode == 0, done.stderr
    assert "1 faster" in done.stdout


def test_figures_say_which_goals_are_reached() -> None:
    rows = [made("p", "ishmem", 1e-7), made("p", "mpi4py", 5e-7), made("g", "ishmem", 4e-7), made("g", "mpi4py", 5e-7)]
    text = figures.table(rows)
    assert "| host p |  | 2 | 100 ns | mpi4py | 500 ns | 0.20 | 0.25 | reached |" in text
    assert "| host g |  | 2 | 400 ns | mpi4py | 500 ns | 0.80 | 0.25 | **missed** |" in text


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.14159e-9, "3.14 ns"), (9.996e-7, "1 us"), (0.0123, "12.3 ms"), (2.5, "2.5 s")]
)
def test_times_are_short(seconds: float, text: str) -> None:
    assert show.short_time(seconds) == text


@pytest.mark.parametrize(
    ("axis", "chosen", "sizes"),
    [
        (None, (), cases.SIZES),
        (None, (8, 12), (8, 12)),
        ((64, 4096), (), (64, 4096)),
        ((64, 4096), (8, 128, 1 << 20), (128, 1 << 20)),
    ],
)
def test_sizes_count_for_every_case(axis: Any, chosen: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    """Also for those that have sizes of their own, such as those in kernels, whose multiples they take."""
    assert cases.sizes_of(axis, chosen) == sizes


def test_the_table_names_the_device(capsys: pytest.CaptureFixture[str]) -> None:
    with show.Screen((), 1) as screen:
        for _ in range(2):
            screen.show([Row("put", "device", 2, "ishmem", {"size": 64}, status="skipped")], "a card (simulated)")
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["operation", "size", "PEs"]
    assert head.endswith("a card (simulated)")
    assert len(lines) == 2
