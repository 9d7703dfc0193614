"""PEs on emulated nodes that are forks behave as new interpreters do."""

from __future__ import annotations

import sys
from collections.abc import Container
from pathlib import Path

import pytest
from subprocesses import program, run_command

from ishmem.environment import mpi_library
from ishmem.testing import nodes

pytestmark = [
    pytest.mark.skipif(not nodes.has_namespaces(), reason="needs namespaces"),
    pytest.mark.skipif(mpi_library.wheel() != "mpich", reason="asks for the variables of MPICH's mpiexec"),
]


KINDS = "new", "forked"


def run(kind: str, path: Path, folder: Path, *args: str) -> int:
    """Run a program on three PEs, which write to a folder, and return the status."""
    folder.mkdir()
    command = nodes.launcher([1, 2], [sys.executable, str(path), *args], preloaded=kind == "forked")
    return run_command(command, env={"ISHMEM_TESTED": str(folder)}, timeout=90).returncode


def test_surroundings(tmp_path: Path) -> None:
    """Arguments, environment, folder and node of each PE."""
    written = {}
    for kind in KINDS:
        assert run(kind, program("surroundings"), tmp_path / kind, "one", "two words") == 0
        written[kind] = sorted(path.read_text() for path in (tmp_path / kind).iterdir())
    assert written["new"] == written["forked"]
    assert [text.split()[0] for text in written["new"]] == ["node0", "node1", "node1"]


@pytest.mark.parametrize(
    ("how", "allowed"),
    [
        ("sys.exit(7)", {7}),
        ("raise ValueError", {1}),
        ("os.kill(os.getpid(), 9)", range(1, 256)),
        ("os.abort()", range(1, 256)),
    ],
)
@pytest.mark.slow_cases("the same without forks", "new-")
@pytest.mark.parametrize("kind", KINDS)
def test_ends(kind: str, how: str, allowed: Container[int], tmp_path: Path) -> None:
    """After a signal, the status of mpiexec varies."""
    path = tmp_path / "ends.py"
    path.write_text(f"import os, sys\nif os.environ['PMI_RANK'] == '1':\n    {how}")
    assert run(kind, path, tmp_path / "none") in allowed


def test_signals(tmp_path: Path) -> None:
    """A signal to the process that mpiexec has started reaches the PE."""
    command = nodes.launcher([1, 1], [sys.executable, str(program("signalled_fork"))], preloaded=True)
    done = run_command(command, env={"ISHMEM_TESTED": str(tmp_path)}, timeout=60)
    assert done.returncode == 5, done
    assert {path.name for path in tmp_path.iterdir()} >= {"node1"}, done


def test_lines_have_the_numbers_of_their_pes() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr)"
    # Without a buffer a line is two writes, and another PE may write between them.
    for options, unbuffered, marks in (([], "1", ["[0] ", "[1] "]), (["--no-prefix"], "", ["", ""])):
        command = [*nodes.COMMAND, *options, "1+1", sys.executable, "-c", code]
        done = run_command(command, env={"PYTHONUNBUFFERED": unbuffered}, timeout=60)
        assert done.returncode == 0, done
        assert sorted(done.stdout.splitlines()) == [f"{mark}out" for mark in marks], done
        assert sorted(done.stderr.splitlines()) == [f"{mark}err" for mark in marks], done
