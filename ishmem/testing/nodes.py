"""Emulated nodes: several on one machine, for tests of jobs over MPI.

    python -m ishmem.testing.nodes 2+2 PROGRAM [ARGUMENT ...]          4 PEs on two nodes, by mpiexec over TCP
    python -m ishmem.testing.nodes --login 2+2 COMMAND [ARGUMENT ...]  one process on the host "login" beside such nodes

Each emulated node has its own namespaces for network, host name, processes and System V IPC, and its own /dev/shm and
/etc/hosts; mpiexec runs on one more host, "login". This needs root, or a user who may create namespaces. Otherwise
MPICH's clique settings divide the processes into nodes, and ISHMEM_NODE does so for ishmem.

The MPI library is that of the environment whose Python runs this file: MPICH, Intel MPI or Open MPI. With --preload,
PEs are forks of a process that has imported the SYCL stack. Each line of output has the number of its PE as prefix, as
mpiexec writes it, unless --no-prefix is given.

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
from collections.abc import Sequence
from pathlib import Path

from ishmem.common.processes import die_with, settle
from ishmem.launch import mpiexec, preload
from ishmem.testing import emulated_node, forked_pe

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

_PREFIX = {"MPICH": ["-prepend-rank"], "Intel MPI": ["-prepend-rank"], "Open MPI": ["--tag-output"]}
"""The option of each mpiexec that prefixes lines."""
_NETWORK = "10.77.0"
COMMAND = [sys.executable, "-m", "ishmem.testing.nodes"]

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


def launcher(
    sizes: Sequence[int],
    program: Sequence[str],
    faults: Path | None = None,
    preloaded: bool = False,
    prefix: bool = False,
) -> list[str]:
    """Return the command that runs a program on emulated nodes.

    Args:
        sizes: The number of PEs on each node.
        program: The program and its arguments.
        faults: A pipe from which commands to break nodes are read; None for none.
        preloaded: Whether the PEs are forks of a process that has imported the stack, not new interpreters.
        prefix: Whether each line of output begins with the number of its PE.
    """
    options = [*(["--faults", str(faults)] if faults else []), *(["--preload"] if preloaded else [])]
    options += [] if prefix else ["--no-prefix"]
    return [*COMMAND, *options, "+".join(map(str, sizes)), *program]


def login(count: int, command: Sequence[str]) -> list[str]:
    """Return a command that runs ``command`` on the host login beside ``count`` emulated nodes: node0, node1, ..."""
    return [*COMMAND, "--login", "+".join(["1"] * count), *command]


@functools.cache
def has_namespaces() -> bool:
    """Return whether this user may create namespaces, and the programs nsenter, ip, mount and hostname are there."""
    if not all(shutil.which(name) for name in ("nsenter", "ip", "mount", "hostname")):
        return False
    command = ["ip", "link", "add", "switch", "type", "bridge"]
    try:
        return subprocess.run(command, capture_output=True, preexec_fn=_become_login).returncode == 0
    except subprocess.SubprocessError:
        return False


def _become_login() -> None:
    """Move this process to the namespaces of the host login, as a user who may create nodes there."""
    emulated_node.unshare("net", "mount", "uts", *(["user"] if os.getuid() else []))


def main(arguments: list[str] | None = None) -> int:
    """Run a program on emulated nodes and return its exit status; in a forked PE, run the PE's program and exit."""
    settle()
    try:
        return _start(_parse(arguments))
    except preload.Program as forked:
        program = forked.command, forked.kept
    return preload.run(*program)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sizes", type=lambda text: [int(size) for size in text.split("+")], help="such as 2+2 or 1+3")
    parser.add_argument("--faults", type=Path, help="a pipe from which commands to break nodes are read")
    parser.add_argument("--cliques", action="store_true", help="do without namespaces")
    parser.add_argument("--login", action="store_true", help="run the command once, on the host login")
    parser.add_argument("--preload", action="store_true", help="fork PEs from a process that has imported the stack")
    parser.add_argument("--no-prefix", action="store_true", help="print output without PE numbers")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def _start(options: argparse.Namespace) -> int:
    os.environ.update(SETTINGS)
    if options.cliques or not has_namespaces():
        return _run(_prefixed(_by_cliques(options.sizes, options.program), options.no_prefix))
    _become_login()
    if options.preload:
        preload.load()
    with contextlib.ExitStack() as ends:
        try:
            folder = Path(tempfile.mkdtemp())
            ends.callback(shutil.rmtree, folder)
            nodes = _network(folder, len(options.sizes), ends)
        except preload.Program:
            ends.pop_all()  # the parent of this PE ends them
            raise
        os.environ.update(_agents(folder / "ssh"))
        if options.faults:
            threading.Thread(target=_break_nodes, args=(options.faults, nodes), daemon=True).start()
        program = options.program
        if options.preload and not options.login and preload.can_run(program):
            program = [sys.executable, "-S", "-I", forked_pe.__file__, str(folder), *program]
        return _run(program if options.login else _prefixed(_by_ssh(options.sizes, program), options.no_prefix))


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


def _prefixed(command: list[str], no_prefix: bool) -> list[str]:
    """Return a command of mpiexec whose lines of output begin with their PE's number, unless ``no_prefix``."""
    path, *words = command
    kind = "" if no_prefix else mpiexec.find(path).kind
    if kind in _PREFIX:  # the prefix precedes each write, and unbuffered Python writes a line in two
        os.environ.pop("PYTHONUNBUFFERED", None)
    return [path, *_PREFIX.get(kind, []), *words]


def _by_ssh(sizes: list[int], program: list[str]) -> list[str]:
    places = [mpiexec.Place(f"node{number}", size) for number, size in enumerate(sizes)]
    return mpiexec.command(mpiexec.find(_mpiexec()), places, program)


def _by_cliques(sizes: list[int], program: list[str]) -> list[str]:
    os.environ.update(MPIR_CVAR_NUM_CLIQUES=str(sum(sizes)), MPIR_CVAR_CLIQUES_BY_BLOCK="1")
    command = [_mpiexec()]
    for number, size in enumerate(sizes):
        command += [":"] * bool(number) + ["-n", str(size), "env", f"ISHMEM_NODE=node{number}", *program]
    return command


def _run(command: list[str]) -> int:
    """Run a command and return its status; on SIGTERM terminate it, and kill it 2 seconds later."""
    process = subprocess.Popen(command, preexec_fn=die_with(os.getpid()))

    def end(*_: object) -> None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2)
        process.kill()

    signal.signal(signal.SIGTERM, end)
    return process.wait()


def _network(folder: Path, count: int, ends: contextlib.ExitStack) -> list[emulated_node.EmulatedNode]:
    """Create nodes, the network between them, and a program ``ssh`` in ``folder``; add their removal to ``ends``."""
    names = [f"node{number}" for number in range(count)]
    addresses = [f"{_NETWORK}.{number + 1}" for number in range(count)]
    lines = [f"{address} {name}" for address, name in zip(addresses, names)]
    (folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", f"{_NETWORK}.254 login", *lines, ""]))
    _do(
        "mount --make-rprivate /",
        "ip link add switch type bridge",
        f"ip addr add {_NETWORK}.254/24 dev switch",
        "ip link set switch up",
        "ip link set lo up",
        "hostname login",
        f"mount --bind {folder}/hosts /etc/hosts",
    )
    ends.callback(_do, "umount /etc/hosts")
    nodes = []
    for number, (name, address) in enumerate(zip(names, addresses)):
        nodes.append(emulated_node.start(emulated_node.Spec(number, name, address, folder)))
        ends.callback(nodes[-1].end)
        (folder / f"{name}.pid").write_text(f"{nodes[-1].pid}\n")
        _do(f"ip link set port{number} master switch up")
    ssh = folder / "ssh"
    ssh.write_text(_SSH.format(folder=folder))
    ssh.chmod(0o755)
    return nodes


def _break_nodes(faults: Path, nodes: Sequence[emulated_node.EmulatedNode]) -> None:
    """Execute the commands, ``kill NODE`` and ``cut NODE``, that are read from a pipe."""
    with faults.open() as commands:
        for command in commands:
            how, number = command.split()
            if how == "kill":
                os.kill(nodes[int(number)].pid, signal.SIGKILL)
            else:
                _do(f"ip link set port{number} down")


def _do(*commands: str) -> None:
    for command in commands:
        subprocess.run(command.split(), check=True)


if __name__ == "__main__":
    sys.exit(main())
