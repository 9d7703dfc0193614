"""Error texts for limits of the system, such as open files, and the range of times that settings may have."""

from __future__ import annotations

import contextlib
import errno
import resource
from collections.abc import Iterator

from ishmem.common.errors import IshmemError

LONGEST = 1e9
"""The longest time that is allowed, in seconds: 31 years."""
TIME_ALLOWED = "seconds, more than 0, at most 1e9"

_LIMITS = {
    errno.EMFILE: (resource.RLIMIT_NOFILE, "a process may open {} files (see ulimit -Hn)"),
    errno.ENFILE: (resource.RLIMIT_NOFILE, "the system has no more; a process may open {} files (see ulimit -Hn)"),
    errno.EFBIG: (resource.RLIMIT_FSIZE, "a file, shared memory too, may have {} bytes (see ulimit -f)"),
    errno.ENOMEM: (resource.RLIMIT_AS, "a process may map {} bytes (see ulimit -v)"),
    errno.EAGAIN: (resource.RLIMIT_NPROC, "a user may have {} processes and threads (see ulimit -u)"),
}
_SANDBOX = "the sandbox of this process (seccomp, of a container) forbids memfd_create, which ishmem needs"


def seconds(text: str) -> float:
    """Parse a time in seconds, more than 0 and at most `LONGEST`.

    Raises:
        ValueError: The text is no such time.
    """
    if not 0 < (value := float(text)) <= LONGEST:
        raise ValueError(f"not a time: {text!r}")
    return value


def advice(error: BaseException) -> str:
    """Return text on the system's limits behind an error, to append to its message; empty if it has another cause.

    Python raises a bare ``RuntimeError`` for a thread that cannot start for lack of memory or threads.
    """
    if isinstance(error, MemoryError) or "start new thread" in str(error):
        return _words(errno.ENOMEM) + _words(errno.EAGAIN)
    return _words(error.errno or 0) if isinstance(error, OSError) else ""


def _words(number: int) -> str:
    if number not in _LIMITS:
        return ""
    limit, words = _LIMITS[number]
    allowed = resource.getrlimit(limit)[number in (errno.EMFILE, errno.ENFILE)]
    return "; " + words.format("any number of" if allowed == resource.RLIM_INFINITY else allowed)


@contextlib.contextmanager
def doing(what: str, is_memory: bool = False) -> Iterator[None]:
    """Replace an ``OSError`` of the block by an `IshmemError` with what has failed and the limit that caused it.

    Args:
        what: The action of the block, such as "start the supervisor".
        is_memory: Whether the action makes shared memory, which some sandboxes forbid.

    Raises:
        IshmemError: The system has refused it.
    """
    try:
        yield
    except OSError as error:
        why = advice(error)
        if is_memory and error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            why = f"; {_SANDBOX}"
        raise IshmemError(f"cannot {what}: {error.strerror or error}{why}") from error
