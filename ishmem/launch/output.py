"""Prints the output of several processes line by line, each line with a prefix that names its process."""

from __future__ import annotations

import os
import select
import selectors
import stat
from collections.abc import Iterator
from typing import Callable

from ishmem.common.errors import IshmemError
from ishmem.common.limits import advice

_CHUNK = 65536
_WHOLE = select.PIPE_BUF  # bytes that one write puts into a pipe at once
_LONGEST = 1 << 20
_PROMPT = 0.1  # seconds after which an incomplete line counts as a prompt
_ERASE = b"\x1b[K"

Show = Callable[[bytes], bytes]
"""Returns the text to print for a line."""


class _Source:
    """The state of a pipe: the incomplete last line read from it, and where and how to print."""

    def __init__(self, target: _Target, show: Show, order: int, prompts: bool) -> None:
        self.order = order
        self.prompts = prompts
        self._target = target
        self._show = show
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        """Print the complete lines of the data so far; an empty chunk is the end of the pipe, which prints the rest."""
        data = self._rest + chunk
        end = _complete(data) if chunk else len(data)
        self._rest = data[end:]
        if not chunk and data and not data.endswith(b"\n"):
            self._print(data + b"\n")
        elif len(self._rest) > _LONGEST:
            self._print(data + b"\n")
            self._rest = b""
        else:
            self._print(data[:end])

    @property
    def has_prompt(self) -> bool:
        """Whether there is an incomplete line that may be a prompt."""
        return self.prompts and bool(self._rest)

    def show_prompt(self) -> None:
        """Print the incomplete line without a line end."""
        rest, self._rest = self._rest, b""
        self._print(rest)

    def _print(self, lines: bytes) -> None:
        # A lone carriage return begins the next state of a progress bar; there is nothing to print.
        shown = [line for line in lines.splitlines(keepends=True) if line != b"\r"]
        self._target.write([self._show(line) for line in shown])


class _Target:
    """A descriptor to which lines are written."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_terminal = os.isatty(descriptor)
        self._is_pipe = _is_pipe(descriptor)
        self._on_bar = False

    def write(self, lines: list[bytes]) -> None:
        if not any(lines):
            return
        if self._on_bar and self._is_terminal:
            lines.insert(0, _ERASE)
        self._on_bar = b"".join(lines).endswith(b"\r")
        for text in _whole(lines) if self._is_pipe else [b"".join(lines)]:
            self._put(text)

    def _put(self, text: bytes) -> None:
        view = memoryview(text)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:
                select.select([], [self._descriptor], [])
            except BrokenPipeError:
                raise
            except OSError as error:
                stream = {1: "standard output", 2: "standard error"}.get(self._descriptor, "output")
                raise IshmemError(f"cannot write to {stream}: {error.strerror}{advice(error)}") from error


class Printer:
    """Prints the lines of several pipes until all of them are closed."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._targets: dict[int, _Target] = {}

    def add(self, pipe: int, target: int, show: bytes | Show, prompts: bool = False) -> None:
        """Print the lines of a pipe to a descriptor; ``show`` is a prefix, or returns the text to print for a line.

        ``prompts``: whether to print an incomplete line that is not continued soon, such as a prompt for input.
        """
        if target not in self._targets:
            self._targets[target] = _Target(target)
        source = _Source(
            self._targets[target],
            show if callable(show) else lambda line: show + line,
            order=len(self._selector.get_map()),
            prompts=prompts,
        )
        self._selector.register(pipe, selectors.EVENT_READ, source)

    def run(self, until: int | None = None) -> bool:
        """Print until all pipes, or the pipe ``until``, are closed; return whether everything was printed.

        It is false if the reader of the output has closed it; other failures to write raise ``IshmemError``.
        """
        left = self._selector.get_map()
        try:
            while left and (until is None or until in left):
                # In the order of `add`: the supervisor's report of a PE follows the PE's own output.
                prompts = [key.data for key in left.values() if key.data.has_prompt]
                ready = self._selector.select(_PROMPT if prompts else None)
                for key, _ in sorted(ready, key=lambda event: event[0].data.order):
                    self._read(key)
                for source in prompts if not ready else ():
                    source.show_prompt()
        except BrokenPipeError:
            return False
        return True

    def _read(self, key: selectors.SelectorKey) -> None:
        chunk = os.read(key.fd, _CHUNK)
        if not chunk:
            self._selector.unregister(key.fd)
            os.close(key.fd)
        key.data.feed(chunk)


def _is_pipe(descriptor: int) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:  # it is closed
        return False


def _whole(lines: list[bytes]) -> Iterator[bytes]:
    """Yield lines joined to pieces of at most ``PIPE_BUF`` bytes, so that lines of several writers do not mix."""
    piece = b""
    for line in lines:
        if piece and len(piece) + len(line) > _WHOLE:
            yield piece
            piece = b""
        piece += line
    yield piece


def _complete(data: bytes) -> int:
    """Return the length of the complete lines in bytes; a final carriage return does not end a line yet."""
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
