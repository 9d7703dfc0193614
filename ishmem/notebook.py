"""The cell magic ``%%ishmem``, which runs a notebook's cell on several PEs; ``%load_ext ishmem`` loads it.

``%%ishmem -n 4`` is followed by a program; ``ishmem run -n 4`` runs it with the environment of the notebook. The line
accepts the options of ``ishmem run``. The PEs are new processes without access to the notebook's variables. Their
output appears below the cell, followed by the matplotlib figures that are open in PE 0 at its end.
"""

from __future__ import annotations

import functools
import os
import runpy
import shlex
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any

__all__: list[str] = []


def load(shell: Any) -> None:
    """Register the cell magic ``%%ishmem`` in the IPython shell ``shell``."""
    shell.register_magic_function(run_cell, "cell", "ishmem")


def run_cell(line: str, cell: str) -> None:
    """Run the program ``cell`` by ``ishmem run`` with the options in ``line``; show its output and PE 0's figures.

    Raises:
        UsageError: The exit status of the job is not 0.
    """
    from IPython.core.error import UsageError
    from IPython.display import Image, display

    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "cell.py")
        program.write_text(cell)
        status = _run(["-m", "ishmem.launch.run", *shlex.split(line), __file__, str(program)])
        for picture in sorted(Path(folder).glob("*.png")):
            display(Image(filename=str(picture)))
    if status:
        raise UsageError(f"%%ishmem: the job ended with status {status}")


def _run(arguments: list[str]) -> int:
    """Run Python with command-line ``arguments``, print its output and return its exit status; Ctrl-C interrupts it."""
    command, environment = [sys.executable, *arguments], {**os.environ, "MPLBACKEND": "agg"}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            _show(process)
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            _show(process)
        return process.wait()


def _show(process: subprocess.Popen[str]) -> None:
    for line in process.stdout or ():
        print(line, end="", flush=True)


def _be_a_pe(program: str) -> None:
    """Run the cell, the file ``program``, as a PE; then PE 0 saves its open figures as 001.png and so on beside it."""
    sys.argv, sys.path[0] = [program], os.getcwd()
    sys.excepthook = functools.partial(_report, program)
    warnings.filterwarnings("ignore", message=".*non-interactive.*")  # plt.show() in the cell
    runpy.run_path(program, run_name="__main__")
    if os.environ.get("ISHMEM_PE") == "0" and "matplotlib.pyplot" in sys.modules:
        pyplot = sys.modules["matplotlib.pyplot"]
        for number in pyplot.get_fignums():
            pyplot.figure(number).savefig(Path(program).with_name(f"{number:03}.png"), bbox_inches="tight")


def _report(program: str, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an exception with the part of its traceback that begins in the file ``program``, the cell."""
    while trace and trace.tb_frame.f_code.co_filename != program:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


if __name__ == "__main__":
    _be_a_pe(sys.argv[1])
