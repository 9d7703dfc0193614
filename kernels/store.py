"""A folder of compiled kernels: one file each, written by any number of processes at once."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

MAGIC = b"ishmem kernel 1\n"
SUFFIX = ".kernel"
PATIENCE = 30.0  # seconds to wait for another process that compiles the same kernel
POLL = 0.005
KEPT = 0.75  # of the limit, after old files were removed


class Store:
    """Values under keys of hexadecimal digits; what cannot be read or written is as if it were not there.

    A file is renamed to its place when it is complete. It is not believed unless it is of this user and its checksum
    over key and value is right.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder, self.limit = folder, limit

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, or ``None``."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_uid != os.getuid():
                    return None
                data = file.read()
            os.utime(path)  # what was used last is removed last
        except OSError:
            return None
        value = data[len(MAGIC) + 32 :]
        return value if data == _sealed(key, value) else None

    def put(self, key: str, value: bytes) -> None:
        """Keep a value; remove those that were not used for the longest time when there are too many bytes."""
        with contextlib.suppress(OSError):
            self._make_folder()
            descriptor, name = tempfile.mkstemp(dir=self.folder)
            try:
                with open(descriptor, "wb") as file:
                    file.write(_sealed(key, value))
                os.replace(name, self._path(key))
            except OSError:
                os.unlink(name)
                raise
            self._shrink()

    @contextlib.contextmanager
    def turn(self, key: str) -> Iterator[None]:
        """Let one process at a time make the value of a key; after some seconds, let it be made all the same."""
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):
                self._make_folder()
                # Never removed, so few: two keys with the same one wait for each other, which does no harm.
                file = stack.enter_context(open(self.folder / f"{key[:2]}.lock", "wb"))
                _lock(file.fileno())
            yield

    def _path(self, key: str) -> Path:
        return self.folder / (key + SUFFIX)

    def _make_folder(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _shrink(self) -> None:
        found = []
        for path in self.folder.glob(f"*{SUFFIX}"):
            with contextlib.suppress(OSError):  # another process removes, too
                status = path.stat()
                found.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _time, size, _path in found)
        if total <= self.limit:
            return
        for _time, size, path in sorted(found):
            if total <= KEPT * self.limit:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size


def _sealed(key: str, value: bytes) -> bytes:
    return MAGIC + hashlib.sha256(key.encode() + value).digest() + value


def _lock(descriptor: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return None
            time.sleep(POLL)
