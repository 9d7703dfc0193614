"""Joins a monitor as the only PE of its node, and prints what it hears of a loss; arguments: the job, and the PE."""

import sys
import threading

from ishmem.ipc import hub
from ishmem.ipc.links import Links
from ishmem.ipc.wire import Kind

job, pe = sys.argv[1], int(sys.argv[2])
told = threading.Event()


def lost(number, how):
    print(number, links.failure[1], how, flush=True)
    told.set()


links = Links.connect(job, 0, 1, 30.0, lost, None, [pe], hub.OfMonitor(list))
links.report(Kind.WATCH)
print("connected", flush=True)
told.wait()
if job.endswith("leaves"):
    links.report(Kind.DONE)
else:
    threading.Event().wait()
