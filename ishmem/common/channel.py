"""Messages as lines of JSON on stream sockets: among the monitors of a job, and between a monitor and its PEs."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any

_LONGEST = 1 << 16
"""Longest line in bytes, and the most bytes that wait for a receiver that does not read."""

Message = dict[str, Any]


class Channel:
    """A connection that carries dictionaries. No method blocks; a connection that fails is at its end."""

    def __init__(self, connection: socket.socket) -> None:
        """Take ownership of a connected socket."""
        connection.setblocking(False)
        self.socket = connection
        self._received, self._unsent = b"", b""

    def fileno(self) -> int:
        """Return the descriptor; -1 after `close`."""
        return self.socket.fileno()

    def send(self, **message: Any) -> None:
        """Send a message; what the connection does not take now goes out before the next message."""
        self._unsent += json.dumps(message).encode() + b"\n"
        with contextlib.suppress(OSError):
            self._unsent = self._unsent[self.socket.send(self._unsent, socket.MSG_NOSIGNAL) :]
        if len(self._unsent) > _LONGEST:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)  # `receive` finds the end

    def receive(self) -> list[Message] | None:
        """Return the messages that have arrived; ``None`` at the end of the connection.

        Raises:
            ValueError: A line is no message.
        """
        try:
            data = self.socket.recv(_LONGEST)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data:
            return None
        *lines, self._received = (self._received + data).split(b"\n")
        if len(self._received) > _LONGEST:
            raise ValueError(f"a line of more than {_LONGEST} bytes")
        return [_parse(line) for line in lines]

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()


def lost(pe: int, how: str, status: int = 1, exits: bool = False, age: float = 0.0) -> Message:
    """Return the message that a PE is lost, and with it the job, which ends with ``status``.

    ``exits``: the PE ends the job by ``global_exit``. ``age``: seconds since the loss.
    """
    return {"kind": "lost", "pe": pe, "how": how, "status": status, "exit": exits, "age": age}


def _parse(line: bytes) -> Message:
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError(f"not a message: {line[:80]!r}")
    return message
