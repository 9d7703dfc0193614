"""``ishmem run --preload``: forked PEs behave as new interpreters do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from subprocesses import run_command

PLACE = """
import os, sys
print(__name__, __file__ if "__file__" in globals() else None, sys.argv, sys.path[0] and os.path.realpath(sys.path[0]))
print(sorted(k for k in os.environ if k.startswith(("ISHMEM_", "ONEAPI_"))), os.environ["ISHMEM_PE"], os.getcwd())
print(os.environ["ONEAPI_DEVICE_SELECTOR"], os.getsid(0) == os.getpid(), sys.stdout.write_through)
print(sys.stdin.read(), sys.stdout.name, sys.stdout.encoding, sys.stdout.errors, sys.stderr.errors)
def function(number: int): pass
print(sys.modules["__main__"].__dict__ is globals(), function.__annotations__)
"""
PROGRAMS = {
    "place": PLACE,
    "at exit": "import atexit, threading\natexit.register(print, 'end')\nthreading.Timer(0.2, print, ['t']).start()",
    "exception": "def f():\n    raise ValueError('no')\nf()",
    "hook": "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\n1 / 0",
    "cause": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError(2) from error",
    "syntax": "x = = 1",
    "interrupt": "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT); time.sleep(5)",
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "status": "raise SystemExit(7)",
    "words": "import sys\nsys.exit('the reason')",
    "at the end": "import dpnp\nclass A:\n    def __del__(self): print(dpnp.__name__, len('end'))\na = A()",
    "lapack": """
import dpnp
from dpnp.linalg import LinAlgError, det, solve
print(det(dpnp.eye(2)))
try:
    solve(dpnp.zeros((2, 2)), dpnp.ones(2))
except LinAlgError as error:
    print(error)
solve(dpnp.zeros((2, 2)), dpnp.ones(2))
""",
    "os exit": "import os\nprint('a'); os._exit(3)",
    "child": "import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'print(1)']))",
}


def ishmem_run(options: list[str], *words: str, folder: Path, n: int = 1) -> tuple[int, list[str]]:
    """Run a program and return its status and its sorted output."""
    command = [sys.executable, "-m", "ishmem.launch.run", "-n", str(n), *options, *words]
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, input="words\n", capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    return done.returncode, sorted(done.stdout.splitlines()) + done.stderr.splitlines()


def both(*words: str, folder: Path, n: int = 1) -> tuple[int, list[str]]:
    """Run a program without and with ``--preload``, and check that it does the same."""
    alone, preloaded = (ishmem_run(options, *words, folder=folder, n=n) for options in ([], ["--preload"]))
    assert preloaded == alone
    return alone


@pytest.mark.slow_cases("endings", "at the end", "at exit", "status", "words", "interrupt", "killed", "os exit")
@pytest.mark.slow_cases("the other programs", "cause", "child", "hook", "lapack", "place")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_the_same(name: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAMS[name])
    status, lines = both("program.py", "x", folder=tmp_path)
    assert lines, status


@pytest.mark.parametrize("name", ["at exit", "exception", "killed", "os exit", "status"])
def test_a_program_without_launcher_does_the_same(name: str, tmp_path: Path) -> None:
    """As tests run most programs: `ishmem.testing.fork_server` forks them."""
    new, forked = without_launcher(PROGRAMS[name], tmp_path)
    assert forked == new


def test_a_program_is_forked(tmp_path: Path) -> None:
    new, forked = without_launcher("import sys\nprint('dpnp' in sys.modules, sys.argv[1:])", tmp_path)
    assert [new, forked] == [(0, "False ['x']\n", ""), (0, "True ['x']\n", "")]


def without_launcher(text: str, folder: Path) -> list[tuple[int, str, str]]:
    """Run a program by a new interpreter and as a fork; return status, output and errors of each."""
    path = folder / "program.py"
    path.write_text(text)
    done = [run_command([sys.executable, str(path), "x"], forked=forked) for forked in (False, True)]
    return [(each.returncode, each.stdout, each.stderr) for each in done]


@pytest.mark.slow("test_a_program_does_the_same")
def test_forms_of_a_program(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    for file in ("__init__.py", "__main__.py", "part.py"):
        (package / file).write_text(PLACE if file != "__init__.py" else "")
    (tmp_path / "script").write_text(PLACE)
    forms = ["-m", "package", "x"], ["-m", "package.part"], ["-c", PLACE, "y"], [str(package), "z"], ["script"]
    for words in forms:
        status, lines = both(*words, folder=tmp_path)
        assert status == 0, lines
        assert any("__main__" in line for line in lines)
    assert both("-m", "package.missing", folder=tmp_path)[0] == 1


JOB = """
import random
import numpy as np
import ishmem
from ishmem import dpex
@dpex.kernel
def put_number(item, box, right):
    ishmem.p(box, ishmem.my_pe(), right)
with ishmem.init():
    box = ishmem.zeros(1, dtype="i8")
    dpex.call_kernel(put_number, dpex.Range(1), box, (ishmem.my_pe() + 1) % ishmem.n_pes())
    ishmem.barrier_all()
    print("got", int(box[0]), flush=True)
    print("drawn", random.random(), np.random.rand())
    ishmem.free_all()
"""


def test_a_job(tmp_path: Path) -> None:
    """Kernels, collectives and devices work, and each PE draws its own random numbers."""
    (tmp_path / "job.py").write_text(JOB)
    status, lines = ishmem_run(["--preload"], "job.py", folder=tmp_path, n=3)
    assert status == 0, lines
    got = [line.split()[:3] for line in lines if "got" in line]
    assert got == [["[0]", "got", "2"], ["[1]", "got", "0"], ["[2]", "got", "1"]]
    drawn = [re.findall(r"0\.\d+", line) for line in lines if "drawn" in line]
    assert len({number for numbers in drawn for number in numbers}) == 6


FAILS = """
import ishmem
with ishmem.init():
    if ishmem.my_pe():
        raise SystemExit(5)
    ishmem.barrier_all()
"""


@pytest.mark.slow_cases("other options", "options1")
@pytest.mark.parametrize("options", [[], ["--preload"]])
def test_the_status_is_that_of_the_pe_that_fails(options: list[str], tmp_path: Path) -> None:
    """Not of PE 0, which fails because PE 1 has left, and may end first."""
    (tmp_path / "job.py").write_text(FAILS)
    status, lines = ishmem_run(options, "job.py", folder=tmp_path, n=2)
    assert status == 5, lines
    assert any("PE 1 exited with status 5" in line for line in lines)


def test_only_on_this_node(tmp_path: Path) -> None:
    for options, environment in ((["-n", "2", "--hosts", "a,b"], {}), ([], {"PMI_RANK": "1", "PMI_SIZE": "2"})):
        command = [sys.executable, "-m", "ishmem.launch.run", "--preload", *options, "prog.py"]
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert re.match(r"ishmem run: --preload: .*\n$", done.stderr), done.stderr


def test_an_executable_is_not_forked(tmp_path: Path) -> None:
    assert both("env", "sh", "-c", "echo $ISHMEM_PE", folder=tmp_path)[1] == ["[0] 0"]
