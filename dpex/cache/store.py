"""Folders of compiled code, a file for each kernel or function, that any number of processes read and write."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

MAGIC = b"compiled code 1\n"
PATIENCE = 300.0  # seconds to wait for another process that is compiling the same kernel; its end frees the lock
LIMIT = 1 << 28  # bytes that a folder holds by default
POLL = 0.005, 0.05  # seconds, at first and after a long wait
KEPT = 0.75  # fraction of the limit that remains after old files are removed
HEAD_START = 0.3
"""Seconds by which the first process begins before others that have computed no value yet, if all need the same one. So
it compiles all kernels of a program, and reuses the device functions that they share."""


class Store:
    """A map from keys of hexadecimal digits to bytes; a file that cannot be read or written counts as absent.

    The file of a key in ``folder`` is named by the key and ``suffix``; together the files have at most ``limit`` bytes.
    A file is written under a temporary name and renamed when it is complete. It is ignored unless this user owns it and
    its checksum over key and value is correct. ``installed`` is a folder of the same form that came with a library; it
    is only read, and its files may have any owner: who can write there can change the library, too.
    """

    def __init__(self, folder: Path, limit: int, suffix: str = ".kernel", installed: Path | None = None) -> None:
        self.folder, self.limit, self.suffix, self.installed = folder, limit, suffix, installed
        self._has_made = False
        self._room = 0  # bytes to be written before the folder is looked at again

    def get(self, key: str) -> bytes | None:
        """Return the value of a key, or ``None`` if there is none."""
        own = _opened(key, self._of_this_user(key))
        if own is None and self.installed:
            with contextlib.suppress(OSError):
                return _opened(key, (self.installed / self._path(key).name).read_bytes())
        return own

    def _of_this_user(self, key: str) -> bytes:
        """Return the content of a key's file; empty if there is none, or another user owns it."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_uid != os.getuid():
                    return b""
                data = file.read()
            os.utime(path)  # files are removed in order of last use
        except OSError:
            return b""
        return data

    def has(self, key: str) -> bool:
        """Return whether ``folder`` has a file for a key; it may be damaged."""
        return self._path(key).exists()

    def put(self, key: str, value: bytes) -> None:
        """Store a value, if it can be written, then remove the least recently used values if they exceed the limit.

        To list a folder of thousands of files takes as long as to compile some kernels. So a process lists it at its
        first write, and again when it has written an eighth of the free bytes: others write meanwhile.
        """
        with contextlib.suppress(OSError):
            self._make_folder()
            descriptor, name = tempfile.mkstemp(self.suffix, dir=self.folder)  # counts if this process is killed
            try:
                with open(descriptor, "wb") as file:
                    file.write(_sealed(key, value))
                os.replace(name, self._path(key))
            except OSError:
                os.unlink(name)
                raise
            self._room -= len(value)
            if self._room <= 0:
                self._room = self._shrink() // 8

    def get_or_make(self, key: str, make: Callable[[], bytes | None], is_first: bool = True) -> bytes | None:
        """Return the value of a key; if there is none, compute and store it, while other processes that need it wait.

        Args:
            key: The key.
            make: Returns the value, or ``None`` if it must not be stored.
            is_first: Whether this process begins at once, without the wait of `HEAD_START` for another one.

        Returns:
            The stored value, or ``None`` if ``make`` was called.
        """
        value = self.get(key)
        if value is not None:
            return value
        with self.turn(key, 0 if is_first or self._has_made else HEAD_START):
            value = self.get(key)
            if value is None:
                self._has_made = True
                made = make()
                if made is not None:
                    self.put(key, made)
            return value

    @contextlib.contextmanager
    def turn(self, key: str, head_start: float = 0.0) -> Iterator[None]:
        """Return a context manager that holds the lock of a key; after `PATIENCE` seconds, without the lock.

        Args:
            key: The key.
            head_start: Seconds in which another process may take the lock first.
        """
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):
                self._make_folder()
                # Lock files are never removed, so there are at most 256; keys that share one only wait longer.
                file = stack.enter_context(open(self.folder / f"{key[:2]}.lock", "wb"))
                _let_another_begin(file.fileno(), self._path(key), head_start)
                _lock(file.fileno())
            yield

    def _path(self, key: str) -> Path:
        return self.folder / (key + self.suffix)

    def _make_folder(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _shrink(self) -> int:
        """Remove the least recently used values if the total exceeds the limit; return the number of free bytes."""
        found = []
        for path in self.folder.glob(f"*{self.suffix}"):
            with contextlib.suppress(OSError):  # another process may remove files, too
                status = path.stat()
                found.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _time, size, _path in found)
        if total <= self.limit:
            return self.limit - total
        for _time, size, path in sorted(found):
            if total <= KEPT * self.limit:
                break
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size
        return self.limit - total


def _opened(key: str, data: bytes) -> bytes | None:
    """Return the value in the content of a key's file; ``None`` if the content is damaged."""
    value = data[len(MAGIC) + 32 :]
    return value if data == _sealed(key, value) else None


def _sealed(key: str, value: bytes) -> bytes:
    return MAGIC + hashlib.sha256(key.encode() + value).digest() + value


def _lock(descriptor: int) -> None:
    begin = time.monotonic()
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = time.monotonic() - begin
            if waited > PATIENCE:
                return None
            time.sleep(min(max(waited / 20, POLL[0]), POLL[1]))


def _let_another_begin(descriptor: int, path: Path, seconds: float) -> None:
    """Wait until another process holds the lock of a file or has written ``path``, at most ``seconds``."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not path.exists():
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        time.sleep(POLL[0])


kernels: Store | None = None
"""The store of kernels; ``None`` without a cache."""

functions: Store | None = None
"""The store of a library's device functions; ``None`` without a cache."""


def use(folder: Path | None, limit: int = LIMIT, installed: Path | None = None) -> None:
    """Store at most ``limit`` bytes of compiled code in a folder; ``None``, as before the first call, means no cache.

    A quarter of the bytes is for device functions. Those in the folder ``installed`` are loaded, too.
    """
    global kernels, functions
    for_functions = limit // 4
    kernels = None if folder is None else Store(folder, limit - for_functions)
    functions = None if folder is None else Store(folder, for_functions, ".function", installed)
