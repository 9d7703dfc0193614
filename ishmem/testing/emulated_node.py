"""An emulated node: a process in namespaces of its own, which forks the node's PEs when mpiexec starts them."""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import os
import select
import signal
import socket
import subprocess
import traceback
from pathlib import Path
from typing import NamedTuple, NoReturn

from ishmem.common import processes
from ishmem.launch import preload
from ishmem.testing import forked_pe

_NAMESPACES = {"mount": 0x20000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000, "pid": 0x20000000,
               "net": 0x40000000}  # fmt: skip
"""The flags of unshare(2), for which Python has a function from 3.12 on."""
_libc = ctypes.CDLL(None, use_errno=True)

_SET_UP = """
mount --make-rprivate /
mount -t tmpfs tmpfs /dev/shm
mount --bind {folder}/hosts /etc/hosts
hostname {name}
ip link add eth0 type veth peer name port{number} netns {switch}
ip addr add {address}/24 dev eth0
ip link set lo up
ip link set eth0 up
"""


class Spec(NamedTuple):
    """The parameters of an emulated node.

    Attributes:
        number: Its number.
        name: Its host name.
        address: Its address in the network.
        folder: A folder with the file ``hosts``; the node listens at the socket ``NAME.pes`` in it.
    """

    number: int
    name: str
    address: str
    folder: Path


class EmulatedNode(NamedTuple):
    """An emulated node that runs.

    Attributes:
        pid: Its first process.
        keeper: The parent of that process, which ends with it.
    """

    pid: int
    keeper: int

    def end(self) -> None:
        """End all processes of the node."""
        os.kill(self.keeper, signal.SIGKILL)
        os.waitpid(self.keeper, 0)


def start(spec: Spec) -> EmulatedNode:
    """Start a node, with a port of the network's switch in the namespace of this process.

    In a PE that the node forks, this raises `preload.Program`.

    Raises:
        OSError: The node could not be made.
    """
    switch, (read_end, write_end) = os.getpid(), os.pipe()
    keeper = os.fork()
    if not keeper:
        os.close(read_end)
        _keep(spec, switch, write_end)
    os.close(write_end)
    with open(read_end) as file:
        pid = file.read()  # up to its end: the node is ready
    if not pid:
        os.waitpid(keeper, 0)
        raise OSError(f"{spec.name} could not be made")
    return EmulatedNode(int(pid), keeper)


def unshare(*names: str) -> None:
    """Move this process to new namespaces; a new PID namespace applies to children that are forked from now on.

    Raises:
        OSError: This user may not create the namespaces.
    """
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(sum(_NAMESPACES[name] for name in names)):
        raise OSError(ctypes.get_errno(), f"unshare: {os.strerror(ctypes.get_errno())}")
    if "user" in names:
        for name, text in ("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1"):
            Path("/proc/self", name).write_text(text)


def _keep(spec: Spec, switch: int, write_end: int) -> None:
    """Create the namespaces and fork the node's first process; never return, but raise `preload.Program` in a PE."""
    try:
        processes.die_with(switch)()
        unshare("net", "uts", "ipc", "mount")
        script = _SET_UP.format(**spec._asdict(), switch=switch)
        subprocess.run(["sh", "-ec", script], stdin=subprocess.DEVNULL, check=True)
        unshare("pid")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(str(spec.folder / f"{spec.name}.pes"))
        listener.listen(128)
        if pid := os.fork():
            os.write(write_end, str(pid).encode())
            os.close(write_end)
            os.waitpid(pid, 0)
        else:
            processes.signal_at_end_of_parent(signal.SIGKILL)
            subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)
            os.close(write_end)
            _serve(listener)
    except preload.Program:
        raise
    except BaseException:  # the child must not continue as its parent
        traceback.print_exc()
    os._exit(1)


def _serve(listener: socket.socket) -> NoReturn:
    """Fork a process for each PE that is requested at a socket."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # collects all children, as the first process of a namespace must
    while True:
        connection, _address = listener.accept()
        if not os.fork():
            listener.close()
            _run_pe(connection)
        connection.close()


def _run_pe(connection: socket.socket) -> NoReturn:
    """Fork a PE, send its process number and status, and end; kill it when the process that mpiexec started ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, files, _flags, _address = socket.recv_fds(connection, forked_pe.LARGEST, 4)
    command, environment, folder = marshal.loads(request)
    if forked_pe.PMI in environment:
        environment[forked_pe.PMI] = str(files[3])
    parent = os.getpid()

    def prepare() -> None:
        processes.die_with(parent)()
        os.chdir(folder)

    pid = preload.fork(command, environment, files[:3], prepare, files[3:]).pid
    for file in files:
        os.close(file)
    connection.send(str(pid).encode())
    ended = os.pidfd_open(pid)
    if connection.fileno() in select.select([ended, connection.fileno()], [], [])[0]:
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(ConnectionError):
        connection.send(str(status).encode())
    os._exit(0)
