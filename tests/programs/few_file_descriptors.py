"""Initialises in a PE that may have 12 file descriptors."""

import resource

resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))
from victim import start

start()
