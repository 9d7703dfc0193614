"""The applications: each at small sizes, with its reference; the demo, and the benchmark beside mpi4py."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from subprocesses import program, run_command, succeeded

import ishmem
from ishmem.examples.apps import APPS, App, Run, Wrong, find
from ishmem.testing import Pes
from tools import applications

ISHMEM = [sys.executable, "-m", "ishmem"]
FOLDER = Path(__file__).parents[2] / "examples" / "apps"


def results_of(name: str) -> list[tuple[App, object]]:
    """Run the small problems of an application on this PE, also with host routines where it has them."""
    results = []
    for app in find(name).small():
        for call in (app.run, app.run_beside) if app.beside else (app.run,):
            run = Run()
            results.append((app, call(run)))
            assert run.seconds >= run.communication_seconds > 0 or app.fused
            ishmem.barrier_all()
            ishmem.free_all()
    return results if ishmem.my_pe() == 0 else []


@pytest.mark.slow_cases("other applications", "2pes-decode", "2pes-fft3d", "2pes-matmul_allscatter", "2pes-bfs")
@pytest.mark.slow_cases("the same on other numbers of PEs", "3pes-")
@pytest.mark.ishmem([2, 3])
@pytest.mark.parametrize("name", APPS)
def test_results_are_those_of_the_reference(pes: Pes, name: str) -> None:
    for app, result in pes.run(results_of, name)[0]:
        assert app.check(result)


@pytest.mark.slow("test_results_are_those_of_the_reference, on one node")
def test_results_on_two_nodes() -> None:
    pool = Pes(4, nodes=(2, 2))
    try:
        for app, result in pool.run(results_of, "isx")[0]:
            assert app.check(result)
    finally:
        pool.stop()


# The others compile kernels for tens of seconds; each run of ``tools.applications`` checks them.
@pytest.mark.slow("checks the programs that figures compare with")
def test_programs_with_mpi4py_have_the_same_results() -> None:
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    done = succeeded(run_command([mpiexec, "-n", "3", sys.executable, str(program("apps_with_mpi4py")), "gups", "isx"]))
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["gups", "isx", "isx"]


def test_a_wrong_result_is_found() -> None:
    app = find("gups").small()[0]
    with pytest.raises(Wrong, match="of 1024 elements are wrong"):
        app.check({"table": np.arange(1024), "block": 512})


@pytest.mark.slow("test_results_are_those_of_the_reference")
def test_demo_checks_and_draws(tmp_path: Path) -> None:
    picture = tmp_path / "heat.png"
    words = ["--rows", "20", "--columns", "30", "--tolerance", "0.1", "--output", str(picture)]
    done = succeeded(run_command([*ISHMEM, "demo", "jacobi", "-n", "2", *words]))
    assert "bit for bit that of serial numpy\n" in done.stdout
    assert "heating" in done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_refuses_wrong_words() -> None:
    done = run_command([*ISHMEM, "demo", "gup"])
    assert done.returncode == 2
    assert "no such application: gup; did you mean gups?" in done.stderr
    done = run_command([*ISHMEM, "demo", "isx", "--exchange", "mail"])
    assert done.returncode != 0
    assert done.stderr.count("--exchange is 'mail'; allowed are alltoallv and atomics") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.slow("test_bench.py: the same runner")
def test_applications_are_measured_beside_mpi4py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find("gups"), "scaled", lambda n: find("gups")(log2=7 + n))
    rows = [row for found in applications.measure(("gups",), (1, 2), 1, 0) for row in found]
    assert [row.reason for row in rows] == [""] * 8
    assert all(0 < row.communication <= row.seconds for row in rows)
    path = tmp_path / "apps.json"
    applications.write(path, rows)
    assert applications.read(path)[1] == rows
    assert len(json.loads(path.read_text())["rows"]) == 8
    assert applications.read(path)[0]["environment"]["device"]
    assert applications.table(rows).count("Random access") == 4
    assert len(applications.draw(rows).axes) >= 2


def test_table_beside_host_routines() -> None:
    times = {"ishmem": 2.0, "mpi4py": 3.0, "fcollect between two kernels": 1.0}
    rows = [applications.Row("decode", "weak", 2, name, seconds, seconds, 1) for name, seconds in times.items()]
    line = "| Flash decoding | weak | 2 | 2 s | fcollect between two kernels | 1 s | 2.00 |"
    assert line in applications.beside(rows)
    assert applications.table(rows).count("Flash decoding") == 1
    assert applications.beside(rows[:2]) == ""


@pytest.mark.parametrize("name", APPS)
def test_applications_are_short(name: str) -> None:
    assert len((FOLDER / f"{name}.py").read_text().splitlines()) <= 200
