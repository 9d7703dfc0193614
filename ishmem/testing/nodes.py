"""Emulated nodes: several on one machine, for tests of jobs over MPI.

    python -m ishmem.testing.nodes 2+2 PROGRAM [ARGUMENT ...]          4 PEs on two nodes, by mpiexec over TCP
    python -m ishmem.testing.nodes --login 2+2 COMMAND [ARGUMENT ...]  one process on the host "login" beside such nodes

Each emulated node has its own namespaces for network, host name, processes and System V IPC, and its own /dev/shm and
/etc/hosts; mpiexec runs on one more host, "login". This needs root, or a user who may create namespaces. Otherwise
MPICH's clique settings divide the processes into nodes, and ISHMEM_NODE does so for ishmem.

The MPI library is that of the environment whose Python runs this file: MPICH, Intel MPI or Open MPI.

Nothing remains on the machine: namespaces end with their processes. With --faults PATH, lines written to that pipe
(mkfifo) break nodes: "kill 1" kills all processes of node 1, "cut 1" disconnects it from the network.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from ishmem.common.processes import die_with
from ishmem.launch import mpiexec

SETTINGS = {
    "MPIR_CVAR_CH4_NETMOD": "ofi",  # UCX, the default of the MPICH wheel, loses messages over TCP
    "FI_PROVIDER": "tcp",
    "I_MPI_PIN": "0",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "tcp,sm,self",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""Variables for MPICH, Intel MPI and Open MPI: messages over TCP, and more PEs than cores."""

_NETWORK = "10.77.0"
_INSIDE = "NODES_INSIDE"  # holds the pid of the process that is already in its namespaces
_COMMAND = [sys.executable, "-m", "ishmem.testing.nodes"]

_SSH = """#!/bin/sh
# Called as ssh is: [options] HOST COMMAND...
while :; do
    case "$1" in
        -[bcDEeFIiJLlmOopQRSWw]) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
host=${{1##*@}}; shift
read -r pid < "{folder}/$host.pid" || exit 255
exec nsenter -t "$pid" -n -u -i -m -p -- /bin/sh -c 'cd "$0"; eval "$*"' "$PWD" "$@"
"""
_NODE = """
hostname {name}
mount -t tmpfs tmpfs /dev/shm
mount --bind {folder}/hosts /etc/hosts
ip link set lo up
echo ready
read -r go
ip addr add {address}/24 dev eth0
ip link set eth0 up
echo up
exec sleep infinity
"""


def launcher(sizes: Sequence[int], program: Sequence[str], faults: Path | None = None) -> list[str]:
    """Return the command that runs a program on emulated nodes; ``sizes`` has the number of PEs on each."""
    options = ["--faults", str(faults)] if faults else []
    return [*_COMMAND, *options, "+".join(map(str, sizes)), *program]


def login(count: int, command: Sequence[str]) -> list[str]:
    """Return the command that runs a command beside emulated nodes, whose names are node0, node1 and so on."""
    return [*_COMMAND, "--login", "+".join(["1"] * count), *command]


@functools.cache
def has_namespaces() -> bool:
    """Return whether this user may create namespaces and the required programs are installed."""
    if not all(shutil.which(name) for name in ("unshare", "nsenter", "ip", "mount", "hostname")):
        return False
    tried = subprocess.run([*_unshare(), "ip", "link", "add", "switch", "type", "bridge"], capture_output=True)
    return tried.returncode == 0


def main() -> int:
    """Run a program on emulated nodes and return its status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sizes", type=lambda text: [int(size) for size in text.split("+")], help="such as 2+2 or 1+3")
    parser.add_argument("--faults", type=Path, help="a pipe from which commands to break nodes are read")
    parser.add_argument("--cliques", action="store_true", help="do without namespaces")
    parser.add_argument("--login", action="store_true", help="run the command once, on the host login")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    os.environ.update(SETTINGS)
    if options.cliques or (os.environ.get(_INSIDE) is None and not has_namespaces()):
        return _run(_by_cliques(options.sizes, options.program))
    if os.environ.get(_INSIDE) != str(os.getpid()):
        os.environ[_INSIDE] = str(os.getpid())
        os.execvp("unshare", [*_unshare(), *_COMMAND, *sys.argv[1:]])
    with tempfile.TemporaryDirectory() as folder, _network(Path(folder), len(options.sizes)) as ssh:
        os.environ.update(_agents(ssh))
        if options.faults:
            threading.Thread(target=_break_nodes, args=(options.faults, Path(folder)), daemon=True).start()
        return _run(options.program if options.login else _by_ssh(options.sizes, options.program))


def _unshare() -> list[str]:
    return ["unshare", "--net", "--mount", "--uts", *([] if os.getuid() == 0 else ["--user", "--map-root-user"])]


def _mpiexec() -> str:
    return str(Path(sys.executable).with_name("mpiexec"))


def _agents(ssh: Path) -> dict[str, str]:
    """Return variables by which the mpiexec of MPICH, Intel MPI and Open MPI reach the nodes."""
    return {
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": str(ssh),
        "I_MPI_HYDRA_BOOTSTRAP": "ssh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(ssh),
        "PRTE_MCA_plm_ssh_agent": str(ssh),
        "PRTE_MCA_prte_tmpdir_base": str(ssh.parent),  # its folders are named by host and pid, which recur
    }


def _by_ssh(sizes: list[int], program: list[str]) -> list[str]:
    places = [mpiexec.Place(f"node{node}", size) for node, size in enumerate(sizes)]
    return mpiexec.command(mpiexec.find(_mpiexec()), places, program)


def _by_cliques(sizes: list[int], program: list[str]) -> list[str]:
    os.environ.update(MPIR_CVAR_NUM_CLIQUES=str(sum(sizes)), MPIR_CVAR_CLIQUES_BY_BLOCK="1")
    command = [_mpiexec()]
    for node, size in enumerate(sizes):
        command += [":"] * bool(node) + ["-n", str(size), "env", f"ISHMEM_NODE=node{node}", *program]
    return command


def _run(command: list[str]) -> int:
    """Run a command and return its status; on SIGTERM, terminate it."""
    process = subprocess.Popen(command, preexec_fn=die_with(os.getpid()))

    def end(*_: object) -> None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2)
        process.kill()

    signal.signal(signal.SIGTERM, end)
    return process.wait()


@contextlib.contextmanager
def _network(folder: Path, count: int) -> Iterator[Path]:
    """Create the nodes and the network between them; yield a program that is called like ssh."""
    names = [f"node{node}" for node in range(count)]
    lines = [f"{_NETWORK}.{node + 1} {name}" for node, name in enumerate(names)]
    (folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", f"{_NETWORK}.254 login", *lines, ""]))
    _do(
        "ip link add switch type bridge",
        f"ip addr add {_NETWORK}.254/24 dev switch",
        "ip link set switch up",
        "ip link set lo up",
        "hostname login",
        f"mount --bind {folder}/hosts /etc/hosts",
    )
    nodes: list[subprocess.Popen[str]] = []
    try:
        for number, name in enumerate(names):
            nodes.append(_make_node(folder, number, name))
        ssh = folder / "ssh"
        ssh.write_text(_SSH.format(folder=folder))
        ssh.chmod(0o755)
        yield ssh
    finally:
        for node in nodes:
            node.kill()
            node.wait()
        _do("umount /etc/hosts")


def _break_nodes(faults: Path, folder: Path) -> None:
    """Obey the commands that arrive by a pipe."""
    with faults.open() as commands:
        for command in commands:
            how, node = command.split()
            if how == "kill":
                os.kill(int((folder / f"node{node}.pid").read_text()), signal.SIGKILL)
            else:
                _do(f"ip link set port{node} down")


def _make_node(folder: Path, number: int, name: str) -> subprocess.Popen[str]:
    script = _NODE.format(name=name, folder=folder, address=f"{_NETWORK}.{number + 1}")
    spaces = ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    unshare = ["unshare", *spaces, "sh", "-c"]
    node = subprocess.Popen(
        [*unshare, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=die_with(os.getpid())
    )
    assert node.stdin is not None
    assert node.stdout is not None
    _expect(node, "ready")
    pid = Path(f"/proc/{node.pid}/task/{node.pid}/children").read_text().split()[0]
    (folder / f"{name}.pid").write_text(pid + "\n")
    _do(
        f"ip link add port{number} type veth peer name eth0 netns {pid}", f"ip link set port{number} master switch up"
    )
    node.stdin.write("go\n")
    node.stdin.flush()
    _expect(node, "up")
    return node


def _expect(node: subprocess.Popen[str], word: str) -> None:
    assert node.stdout is not None
    if node.stdout.readline() != word + "\n":
        raise SystemExit(f"a node was not {word}")


def _do(*commands: str) -> None:
    for command in commands:
        subprocess.run(command.split(), check=True)


if __name__ == "__main__":
    sys.exit(main())
