"""What a launcher takes over from the process that has started it, and PEs from the launcher."""

from __future__ import annotations

import contextlib
import os
import signal

from ishmem.common.processes import keep_ends_of_children


def settle() -> None:
    """Set what exec keeps and a launcher relies on: dispositions of signals, the mask, and open standard streams.

    What a shell or nohup ignores for jobs in the background stays ignored: SIGHUP, SIGINT and SIGQUIT.
    """
    keep_ends_of_children()
    if signal.getsignal(signal.SIGTERM) == signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for stream in range(3):  # else a pipe of the launcher would get its number
        with contextlib.suppress(OSError):
            os.fstat(stream)
            continue
        os.open(os.devnull, os.O_RDWR)
