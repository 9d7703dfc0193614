"""The reason why a PE cannot reach the other PEs of its node, in a file that the others read while they wait.

The PEs meet by an abstract socket, which belongs to a network namespace. A file is seen from other namespaces too, as
long as the folder for temporary files is the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile

from ishmem.common.errors import IshmemError

_MOST = 1 << 16
_HOW = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


def record_refusal(job: str, pe: int, n_pes: int, why: str) -> None:
    """Write the reason ``why`` a job cannot start to a file for its other PEs; the first reason of a job counts.

    ``job`` is the secret name of the job; this is PE ``pe`` of ``n_pes``. Does nothing without a folder to write to.
    """
    with contextlib.suppress(OSError):  # no folder to write to: the others wait until their time-out
        file = os.open(_path(job), _HOW | os.O_CREAT, 0o600)
        try:
            if not _read(file):
                os.write(file, f"{why}\n".encode())
        finally:
            os.close(file)
        with contextlib.suppress(IshmemError):
            raise_if_refused(job, pe, n_pes)


def raise_if_refused(job: str, pe: int, n_pes: int) -> None:
    """Raise ``IshmemError`` with the reason that a PE has recorded, if any; the last of ``n_pes`` removes the file."""
    try:
        file = os.open(_path(job), _HOW)
    except OSError:
        return
    try:
        if not (lines := _read(file)):
            return
        os.write(file, f"{pe}\n".encode())
        if len({str(pe), *filter(str.isdigit, lines)}) == n_pes:
            with contextlib.suppress(OSError):
                os.unlink(_path(job))
    finally:
        os.close(file)
    raise IshmemError(lines[0])


def _path(job: str) -> str:
    return os.path.join(tempfile.gettempdir(), f"ishmem-{hashlib.sha256(f'ishmem refusal {job}'.encode()).hexdigest()}")


def _read(file: int) -> list[str]:
    """Return the complete lines of a file; empty if the file is another user's."""
    status = os.fstat(file)
    if status.st_uid != os.geteuid() or not stat.S_ISREG(status.st_mode):
        return []
    return os.pread(file, _MOST, 0).decode(errors="replace").split("\n")[:-1]
