"""Starting jobs on several nodes: ``ishmem run --hosts``, ishmem run under mpiexec, and what contradicts itself."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from login import Login
from subprocesses import run_command

from ishmem.common.errors import IshmemError
from ishmem.environment.mpi_variables import launched
from ishmem.launch import hosts, mpiexec, options, rank
from ishmem.launch.mpiexec import Mpiexec, Place
from ishmem.launch.options import UsageError
from ishmem.testing import nodes

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
RUN = [sys.executable, "-m", "ishmem.launch.run"]
MPIEXEC = [str(Path(sys.executable).with_name("mpiexec"))]


# ---- hosts and places


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a", [("a", None)]),
        ("a,b", [("a", None), ("b", None)]),
        ("a:2, b:6", [("a", 2), ("b", 6)]),
        ("a,b,a", [("a", 2), ("b", None)]),
    ],
)
def test_hosts(text: str, found: list[Any]) -> None:
    assert hosts.parse_hosts(text) == found


def test_hosts_file(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# nodes\na slots=4 max_slots=8\n\nb:2  # the small one\nc\nc\n")
    assert hosts.read_hosts(str(file)) == [("a", 4), ("b", 2), ("c", 2)]
    file.write_text("# none\n")
    with pytest.raises(UsageError, match="has no hosts"):
        hosts.read_hosts(str(file))
    with pytest.raises(UsageError, match=r"absent: No such file"):
        hosts.read_hosts(str(tmp_path / "absent"))


@pytest.mark.parametrize("text", ["a,", "a:0", "a:x", "a:1:2", "a b"])
def test_hosts_that_are_wrong(text: str) -> None:
    with pytest.raises(UsageError, match=r"--hosts: got .*allowed: HOST or HOST:SLOTS"):
        hosts.parse_hosts(text)


@pytest.mark.parametrize(
    ("n", "ppn", "text", "counts"),
    [
        (8, None, "a,b", [4, 4]),
        (5, None, "a,b,c", [2, 2, 1]),
        (1, None, "a,b", [1]),
        (4, None, "a:1,b:3", [1, 3]),
        (3, None, "a:2,b:6", [2, 1]),
        (None, None, "a:2,b:6", [2, 6]),
        (None, 3, "a,b", [3, 3]),
        (4, 3, "a,b", [3, 1]),
    ],
)
def test_places(n: int | None, ppn: int | None, text: str, counts: list[int]) -> None:
    placed = hosts.places(n, ppn, hosts.parse_hosts(text))
    assert [place.pes for place in placed] == counts
    assert [place.host for place in placed] == ["a", "b", "c"][: len(counts)]


@pytest.mark.parametrize(
    ("n", "ppn", "text", "message"),
    [
        (9, None, "a:2,b:6", "got 9 PEs for 8 slots: a:2, b:6; allowed: -n up to 8"),
        (9, 4, "a,b", "got 9 PEs for 8 slots"),
        (4, None, "a:2,b", "no slots for b"),
        (None, None, "a,b", "-n, the number of PEs, is missing"),
    ],
)
def test_places_that_do_not_fit(n: int | None, ppn: int | None, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        hosts.places(n, ppn, hosts.parse_hosts(text))


# ---- mpiexec

VERSIONS = {
    "MPICH": "HYDRA build details:\n    Version:      4.2.0\n",
    "Intel MPI": "Intel(R) MPI Library for Linux* OS, Version 2021.18 Build 2026\n",
    "Open MPI": "mpiexec (Open MPI) 5.0.11\n",
    "PALS": "mpiexec version 1.8.0 revision 0\n",
}


def executable(path: Path, text: str) -> str:
    """Write an executable that prints a text."""
    path.write_text(f"#!/bin/sh\ncat <<'end'\n{text}end\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("kind", VERSIONS)
def test_kind_of_mpiexec(kind: str, tmp_path: Path) -> None:
    found = mpiexec.find(executable(tmp_path / "mpiexec", VERSIONS[kind]))
    assert (found.path, found.kind) == (str(tmp_path / "mpiexec"), kind)
    assert "\n" not in found.version


def test_a_process_of_mpiexec_that_keeps_the_output_open(tmp_path: Path) -> None:
    path = executable(tmp_path / "mpiexec", VERSIONS["MPICH"])
    with open(path, "a") as script:
        script.write("[ $1 = --version ] || { setsid sleep 1000 & wait; }\n")
    command = [sys.executable, "-m", "ishmem", "run", "--hosts", "here", "-n", "1", "--timeout", "1", "true"]
    done = run_command(command, env={"ISHMEM_MPIEXEC": path}, timeout=60)
    assert done.returncode == 124, done


def test_no_mpiexec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IshmemError, match=r"unknown kind .*says 'mine 1'.*; allowed: Intel MPI, MPICH, Open MPI, PALS"):
        mpiexec.find(executable(tmp_path / "mpiexec", "mine 1\n"))
    with pytest.raises(IshmemError, match=r"ISHMEM_MPIEXEC=/none is no program.*pip install mpich"):
        mpiexec.find("/none")
    monkeypatch.setattr(mpiexec, "wheel", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(IshmemError, match=r"no mpiexec, mpirun, mpiexec.hydra on the path; load the site's MPI module"):
        mpiexec.find()


def test_no_mpi4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(IshmemError, match=r"mpi4py, which is not installed: pip install 'ishmem4py\[mpi\]'"):
        mpiexec.require_mpi4py()


@pytest.mark.parametrize(
    ("kind", "even", "uneven"),
    [
        ("MPICH", "mpiexec -hosts a:2,b:2 -n 4 x", "mpiexec -hosts a:1,b:3 -n 4 x"),
        ("Intel MPI", "mpiexec -hosts a,b -ppn 2 -n 4 x", "mpiexec -host a -n 1 x : -host b -n 3 x"),
        (
            "PALS",
            "mpiexec --envall --cpu-bind none --hosts a,b --ppn 2 -n 4 x",
            "mpiexec --envall --cpu-bind none --hosts a -n 1 x : --envall --cpu-bind none --hosts b -n 3 x",
        ),
        (
            "Open MPI",
            "mpiexec --host a:2,b:2 --map-by slot --bind-to none -x ISHMEM_A -x MINE -n 4 x",
            "mpiexec --host a:1,b:3 --map-by slot --bind-to none -x ISHMEM_A -x MINE -n 4 x",
        ),
    ],
)
def test_command(kind: str, even: str, uneven: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"ISHMEM_A": "1", "SSH_TTY": "x", "HOME": "/", "PMIX_A": "1", "MINE": "1"})
    found = Mpiexec("mpiexec", kind, "")
    assert " ".join(mpiexec.command(found, [Place("a", 2), Place("b", 2)], ["x"])) == even
    assert " ".join(mpiexec.command(found, [Place("a", 1), Place("b", 3)], ["x"])) == uneven


@pytest.mark.parametrize("found", [rank.Ended(3, -9, False, "node1"), rank.Ended(0, 7, True, "n")])
def test_marks(found: rank.Ended) -> None:
    assert rank.parse(rank.end_mark(found)) == found
    line = rank.line_mark(found.pe) + b"a=1@b\r"
    assert rank.parse(line) == rank.Line(found.pe, b"a=1@b\r")
    assert rank.parse(b"a line of mpiexec\n") is None


# ---- the launcher's variables


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ("PMI_RANK=3 PMI_SIZE=8 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2", (3, 8, 1, 2)),
        # mpiexec starts its agents by srun, so Slurm's variables are those of the agent
        ("PMI_RANK=3 PMI_SIZE=8 MPI_LOCALRANKID=1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1", (3, 8, 1, None)),
        ("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 PMIX_RANK=1", (1, 4, 0, None)),
        ("PALS_RANKID=5 PALS_LOCAL_RANKID=1 PALS_LOCAL_SIZE=4", (5, None, 1, 4)),
        ("SLURM_STEP_ID=0 SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1", (5, 8, 1, None)),
        ("PMIX_RANK=2 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=0", (2, 4, 0, None)),
        ("SLURM_PROCID=0 SLURM_NTASKS=8", None),  # a batch script
        ("SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", None),  # srun -n 1 --pty bash
        ("", None),
    ],
)  # fmt: skip
def test_launched(variables: str, found: tuple[Any, ...] | None) -> None:
    this = launched(dict(word.split("=") for word in variables.split()))
    assert (this and this[1:]) == found


SHOW = """
import os
names = ("PMI_RANK", "ONEAPI_DEVICE_SELECTOR", "ISHMEM_SIM_DEVICES", "ISHMEM_PE", "PARENT")
values = [*[os.environ.get(name) for name in names], os.getppid() == int(os.environ["PARENT"])]
os.write(1, f"{' '.join(map(str, values))}\\n".encode())  # at once, as mpiexec mixes the output of its processes
"""


def test_ishmem_run_under_mpiexec(tmp_path: Path) -> None:
    """It takes the place of its process, with the device of its rank on the node."""
    (tmp_path / "show.py").write_text(SHOW)
    command = ["sh", "-c", 'PARENT=$$ "$@"; exit $?', "sh", *RUN, str(tmp_path / "show.py")]
    done = run_command([*MPIEXEC, "-n", "3", *command], env=nodes.SETTINGS)
    assert done.returncode == 0, done.stderr
    rows = sorted(line.split() for line in done.stdout.splitlines())
    assert [row[:4] for row in rows] == [[str(pe), f"level_zero:{pe}", "3", "None"] for pe in range(3)], done.stdout
    assert all(row[-1] == "True" for row in rows)


def test_ishmem_run_n_under_mpiexec() -> None:
    for words in (["-n", "2"], ["--hosts", "a", "-n", "2"], ["--timeout", "5"]):
        env = {"PMI_RANK": "1", "PMI_SIZE": "2"}
        done = run_command([*RUN, *words, sys.executable, "-c", "pass"], env=env)
        assert done.returncode == 2
        assert "ishmem run is process 1 of 2 of an MPI launcher (PMI_RANK is set), and so is one PE; " in done.stderr


OF_OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
OF_ISHMEM_RUN = {"ISHMEM_PE": "0", "ISHMEM_NPES": "2", "ISHMEM_JOB": "0" * 32}
WORLD = "comm=__import__('mpi4py.MPI').MPI.COMM_WORLD"
ANOTHER_MPI = (
    "process 0 of 2 of an MPI launcher (OMPI_COMM_WORLD_RANK is set), but MPI.COMM_WORLD has 1",
    "mpi4py has loaded MPICH",
)
CONTRADICTIONS = [
    ("", OF_OPEN_MPI, 1, ANOTHER_MPI),  # otherwise each process would be a job of one PE
    (WORLD, OF_OPEN_MPI, 1, ANOTHER_MPI),
    ("", {**OF_OPEN_MPI, "PYTHONPATH": "."}, 1,
     ("started by an MPI launcher, and mpi4py cannot be used (none here); install mpi4py",)),
    ("", {**OF_OPEN_MPI, **OF_ISHMEM_RUN}, 1, ("PE 0 of 2 of an ishmem run, and process 0 of 2 of an MPI launcher",)),
    (WORLD, {}, 2,
     ("a communicator of 1 processes, in a job of 2 PEs that ishmem run has started", "mpiexec -n 2")),
]  # fmt: skip


@pytest.mark.parametrize(("comm", "env", "n", "words"), CONTRADICTIONS)
def test_contradictions(comm: str, env: dict[str, str], n: int, words: tuple[str, ...], tmp_path: Path) -> None:
    """Launchers, mpi4py and a communicator that do not fit together are told, by each PE."""
    (tmp_path / "mpi4py.py").write_text("raise ImportError('none here')")
    started = [*RUN, "-n", "2"] if n == 2 else [sys.executable]
    text = f"import ishmem\ntry: ishmem.init('8M', {comm})\nexcept ishmem.IshmemError as error: print(error)"
    env = {**nodes.SETTINGS, **env, **({"PYTHONPATH": str(tmp_path)} if "PYTHONPATH" in env else {})}
    done = run_command([*started, "-c", text], env=env)
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (0, n), done
    assert all(word in line for word in words for line in lines), done


# ---- jobs on emulated nodes


HELLO = """
import os, socket, sys, ishmem
with ishmem.init("8M"):
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a = ishmem.full(1, me, dtype="i8")
    ishmem.barrier_all()
    print(f"PE {me} of {n} on {socket.gethostname()} sees {ishmem.g(a, (me + 1) % n)}", os.environ["MINE"])
    print(os.environ["ONEAPI_DEVICE_SELECTOR"], end="", file=sys.stderr)
    ishmem.free_all()
"""


def test_job(login: Login, tmp_path: Path) -> None:
    hostfile = tmp_path / "hosts"
    hostfile.write_text("node0 slots=1\nnode1 slots=3\n")
    done = login.ishmem_run("--hostfile", str(hostfile), "--sim", "2", "-c", HELLO, env={"MINE": "set"})
    assert done.returncode == 0, done.stderr
    node = (0, 1, 1, 1)
    expected = [f"[{pe}] PE {pe} of 4 on node{node[pe]} sees {(pe + 1) % 4} set" for pe in range(4)]
    assert sorted(done.stdout.splitlines()) == expected
    assert sorted(done.stderr.splitlines()) == [f"[{pe}] level_zero:{k}" for pe, k in enumerate((0, 0, 1, 0))]


ENDS = """
import os, sys, time
try:
    print("now", flush=True)
    if os.environ["PMI_RANK"] == "2":
        {"exit": lambda: sys.exit(7), "kill": lambda: os.kill(os.getpid(), 9)}.get(sys.argv[1], int)()
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit("interrupted")
"""


@pytest.mark.slow_cases("the other ends", "exit-", "sleep-")
@pytest.mark.parametrize(
    ("how", "options", "status", "message"),
    [
        ("exit", (), 7, "PE 2 on node1 exited with status 7; ending the other PEs"),
        ("kill", (), 137, "PE 2 on node1 was ended by SIGKILL; ending the other PEs"),
        ("sleep", ("--timeout", "5"), 124, "timed out after 5 s; ending PE 0 on node0, 1 on node0, 2 on node1"),
        ("interrupt", (), 1, "SIGINT passed on to the PEs"),
    ],
)
def test_end(login: Login, how: str, options: tuple[str, ...], status: int, message: str) -> None:
    words = ("-n", "3", "--hosts", "node0,node1", *options, "--no-prefix", "-c", ENDS, how)
    done = login.ishmem_run(*words, signal=signal.SIGINT if how == "interrupt" else 0, after=3 * "now\n")
    assert done.returncode == status, done.stderr
    assert f"ishmem run: {message}" in done.stderr.splitlines()
    assert set(done.stdout.splitlines()) <= {"now"}
    if how == "interrupt":
        assert done.stderr.splitlines().count("interrupted") == 3


def test_info(login: Login) -> None:
    done = login.run([sys.executable, "-m", "ishmem", "info", "--hosts", "node0:1,node1:2", "--json"])
    assert done.returncode == 0, done.stderr
    found = [(node["host"], node["PEs"]) for node in json.loads(done.stdout)["nodes"]]
    assert found == [("node0", [0]), ("node1", [1, 2])]


WAIT = """
import os, time, ishmem
ishmem.init("8M")
try:
    ishmem.wait_until(ishmem.zeros(1, dtype="i8"), ishmem.CMP_EQ, 1)
except ishmem.WaitTimeout as error:
    print(error, flush=True)
time.sleep(9)
os._exit(0)
"""
"""Ends after all have waited, since the others lose a PE that ends."""


@pytest.mark.slow("test_job")
def test_errors_name_pes_of_the_job(login: Login) -> None:
    """The status board of a node knows only the PEs of the node, by their places there."""
    done = login.ishmem_run("--hosts", "node0:1,node1:2", "-c", WAIT, env={"ISHMEM_TIMEOUT": "6"})
    lines = done.stdout.splitlines()
    for pe in (1, 2):
        head = f"[{pe}] PE {pe}: ISHMEM_TIMEOUT, 6 s, is over; the PEs of node 1 (node1) are:"
        assert head in lines, done
        places = [line.partition(": ")[0] for line in lines[lines.index(head) + 1 :] if line.startswith(f"[{pe}]   PE")]
        assert places == [f"[{pe}]   PE 1", f"[{pe}]   PE 2"]


# ---- batch scripts


@pytest.mark.parametrize("script", sorted((EXAMPLES / "batch").glob("*.sh")), ids=lambda path: path.stem)
def test_batch_script(script: Path) -> None:
    """It is correct shell, its commands of ours have the options that it uses, and its programs exist."""
    subprocess.run(["bash", "-n", str(script)], check=True)
    text = script.read_text()
    found = re.findall(r"^[^#\n]*?\bishmem (\w+)(.*)$", text, re.MULTILINE)
    assert found
    for name, rest in found:
        words = [re.sub(r'"?\$(\w+)"?', lambda match: VALUES[match[1]], word) for word in rest.split(" ||")[0].split()]
        if name == "run":
            parsed = options.parse(words)
            assert parsed.program == [str(EXAMPLES / "ring.py")]
        else:
            assert (name, words) in (("info", []), ("doctor", []))
    for path in re.findall(r"examples/\w+\.py", text):
        assert (ROOT / path).is_file()


VALUES = {"program": str(EXAMPLES / "ring.py"), "pes": "8", "per_node": "4", "hosts": "a,b", "PBS_NODEFILE": "file"}
