"""Builds a module again and again, and kills or stops its compilers, which have the argument in their environment."""

import os
import signal
import sys

from build_module import build
from test_simulator_compiler import compilers


def end(how):
    for compiler in compilers(sys.argv[1]):
        os.kill(compiler, how)


build()
end(signal.SIGKILL)
build()
end(signal.SIGSTOP)
build()
end(signal.SIGKILL)  # what is stopped does not see that it is given up
build()
