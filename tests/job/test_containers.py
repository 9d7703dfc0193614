"""Jobs in containers: what a sandbox forbids, hides or separates is worked around, or told in one sentence."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from confined import COMMAND as CONFINED, MEMFD_CREATE, PIDFD_GETFD
from subprocesses import program, run_at_once, run_command

import ishmem
from ishmem.environment import card
from ishmem.testing import nodes
from ishmem.testing.fork_server import ISHMRUN

PROGRAM = [sys.executable, str(program("reach_the_others"))]
FORMATS = ["fd", "pool", "opaque", "opaque-strict", "tiles"]
REFUSED = "PEs 0 and 1: the driver refuses the memory (zeMemOpenIpcHandle failed: ZE_RESULT_ERROR_INVALID_ARGUMENT"
formats = pytest.mark.parametrize("format", FORMATS)


def namespaces(*options: str) -> list[str]:
    """Return the command that starts another one in new namespaces; skip the test where this user may not."""
    command = ["unshare", *options]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip(f"this user may not {' '.join(command)}")
    return command


def check(done: subprocess.CompletedProcess[str], route: str, n: int = 2) -> None:
    """Assert that all results are right, by this route between different PEs."""
    assert done.returncode == 0, done
    found = sorted(line.split("] ")[-1].split()[: n + 1] for line in done.stdout.splitlines())
    assert found == [[str(pe), *("DIRECT" if pe == other else route for other in range(n))] for pe in range(n)], done


@pytest.mark.slow_cases("the other formats", "fd", "opaque", "pool", "tiles")
@formats
def test_without_pidfd_getfd(format: str) -> None:
    """As with Docker's filter, or with yama: only drivers that fetch descriptors by themselves are affected."""
    command = [*CONFINED, str(PIDFD_GETFD), "-", *ISHMRUN, "-n", "2", "--sim", "2", *PROGRAM]
    done = run_command(command, env={"ISHMEM_SIM_IPC": format}, forked=False)
    strict = format == "opaque-strict"
    check(done, "STAGED" if strict else "DIRECT")
    assert done.stderr.count(REFUSED) == 2 * strict, done
    assert done.stderr.count("the system call pidfd_getfd has to be allowed (CAP_SYS_PTRACE)") == 2 * strict, done


def test_without_memfd_create_under_mpiexec() -> None:
    """There is no supervisor that would find out first."""
    command = [*CONFINED, str(MEMFD_CREATE), "-", sys.executable, "-c", "import ishmem; ishmem.init()"]
    done = run_command(command, forked=False)
    assert done.returncode == 1, done
    assert "forbids memfd_create, which ishmem needs" in done.stderr.splitlines()[-1], done


SMALL = (
    "mount -t tmpfs -o size=1m tmpfs /dev/shm && mount -o remount,bind,ro / && ! touch /tmp/x 2> /dev/null || exit 9; "
    'unset HOME XDG_CACHE_HOME; exec "$@"'
)


@pytest.mark.slow_cases("the other formats", "opaque", "pool", "opaque-strict", "tiles")
@formats
def test_in_a_container(format: str) -> None:
    """A read-only file system, little shared memory, no home, few files, and namespaces of users and processes."""
    inside = namespaces("--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "--ipc", "--uts")
    command = [*inside, "sh", "-c", SMALL, "sh", *CONFINED, "-", "64", *ISHMRUN, "-n", "4", "--sim", "4", *PROGRAM]
    done = run_command(command, env={"ISHMEM_SIM_IPC": format}, forked=False)
    if done.returncode == 9:
        pytest.skip("this user may not mount file systems")
    check(done, "DIRECT", 4)
    assert len(done.stderr.splitlines()) <= 1, done


@pytest.mark.slow_cases("the other formats; on one device", "1-fd", "1-opaque", "1-pool", "1-tiles", "2-")
@formats
@pytest.mark.parametrize("devices", [1, 2])
def test_a_container_for_each_pe(format: str, devices: int) -> None:
    """With the same network; process 1 of one is not that of the other, also where both are on one device."""
    inside = namespaces("--map-root-user", "--pid", "--fork", "--mount-proc")
    env = {"ISHMEM_SIM_IPC": format}
    done = run_command([*ISHMRUN, "-n", "2", "--sim", str(devices), *inside, *PROGRAM], env=env, forked=False)
    strict = format == "opaque-strict"
    check(done, "STAGED" if strict else "DIRECT")
    assert done.stderr.count(REFUSED) == 2 * strict, done
    assert done.stderr.count("these processes are in different namespaces of processes") == 2 * strict, done


@pytest.mark.slow_cases("the other one", "[0]", "[1]")
@pytest.mark.parametrize("elsewhere", [[0], [1], [1, 2]], ids=str)
def test_networks_of_their_own_by_unique_id(elsewhere: list[int], tmp_path: Path) -> None:
    """All PEs are told, before any time-out, by a file, of which nothing remains."""
    apart, uid, env = namespaces("-n"), ishmem.get_uniqueid(), {"ISHMEM_INIT_TIMEOUT": "1000", "TMPDIR": str(tmp_path)}
    made = re.fullmatch(r"[0-9a-f]{32}-(\d+)", uid)
    assert made, uid
    command = [sys.executable, str(program("join")), uid]
    pes = [([*(apart if pe in elsewhere else []), *command, str(pe), "3"], env) for pe in range(3)]
    for pe, done in enumerate(run_at_once(pes, 120, forked=False)):
        assert done.returncode == 1, done
        said = re.search(r"PE (\d) is in another network namespace .* get_uniqueid \((\d+)\)", done.stderr)
        assert said and int(said[1]) in elsewhere and said[2] == made[1], done
        assert pe not in elsewhere or int(said[1]) == pe, done
    assert not list(tmp_path.glob("ishmem-*"))
    together = [([*command, str(pe), "3"], env) for pe in range(3)]
    assert [each.returncode for each in run_at_once(together, 60)] == [0, 0, 0]


HIDE = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
DIR *opendir(const char *path) {
  if (!strstr(path, "/dri/by-path")) return ((DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir"))(path);
  creat(HIDDEN, 0600);
  errno = ENOENT;
  return 0;
}
"""


@pytest.mark.skipif(bool(card.problem()), reason=f"no emulated card: {card.problem()}")
def test_without_the_folder_by_path(tmp_path: Path) -> None:
    """Intel's driver looks for cards in ``/dev/dri/by-path``, which containers may lack, and then for device files."""
    if not (compiler := shutil.which("cc")):
        pytest.skip("no C compiler")
    library, hidden = tmp_path / "hide.so", tmp_path / "hidden"
    command = [compiler, "-shared", "-fPIC", "-xc", "-", "-o", str(library), f'-DHIDDEN="{hidden}"', "-ldl"]
    subprocess.run(command, input=HIDE, text=True, check=True)
    command = [*ISHMRUN, "-n", "2", "--card", "b580", *PROGRAM]
    done = run_command(command, env={"LD_PRELOAD": str(library), "ISHMEM_DEVICE": "auto"}, forked=False)
    check(done, "STORES")
    assert hidden.exists()


def test_networks_of_their_own_under_mpiexec() -> None:
    """They are nodes, which MPI joins, by shared memory here."""
    apart = namespaces("-n")
    mpiexec = [str(Path(sys.executable).with_name("mpiexec")), "-n", "2"]
    env = {**nodes.SETTINGS, "ISHMEM_SIM_DEVICES": "2"}
    check(run_command([*mpiexec, *apart, *PROGRAM], env=env, forked=False), "STAGED")
