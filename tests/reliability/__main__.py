"""Measures ishmem's reliability: ``python tests/reliability COMMAND``; see docs/reliability.md.

Each command is a module of its own and works on jobs that it starts with ishmem run or mpiexec.
"""

import click
from long_runs import calls, jobs, soak, threads
from random_faults import kills, node_faults


@click.group()
def main() -> None:
    """Kill PEs, run long jobs and many short ones, make bad calls and calls of many threads; report the results."""


for command in (kills, node_faults, soak, jobs, calls, threads):
    main.add_command(command)

if __name__ == "__main__":
    main()
