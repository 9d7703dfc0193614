"""PE 1 ends in the way that it is told."""

import os
import signal
import sys

if os.environ["PMI_RANK"] == "1":
    how = sys.argv[1]
    if how == "exception":
        raise ValueError(how)
    if how == "status":
        sys.exit(7)
    os.kill(os.getpid(), getattr(signal, how))
