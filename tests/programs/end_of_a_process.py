"""Process 2 ends in the way of the argument; the others sleep."""

import os
import signal
import sys
import time

try:
    print("now", flush=True)
    if os.environ["PMI_RANK"] == "2" and sys.argv[1] == "exit":
        sys.exit(7)
    if os.environ["PMI_RANK"] == "2" and sys.argv[1] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit("interrupted")
