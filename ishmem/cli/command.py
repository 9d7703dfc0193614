"""The command ``ishmem``: each subcommand is in a separate module, which is imported at the first use.

To add one, write a click command (or group) in a suitable module and add its name to `SUBCOMMANDS`. Their help lines
are here so that ``ishmem --help`` imports no subcommand.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from typing import Any, NamedTuple, NoReturn

import click

from ishmem.common import processes
from ishmem.common.errors import IshmemError


class Subcommand(NamedTuple):
    """Location and help line of a subcommand.

    Attributes:
        target: ``module:name`` of the click command.
        help: The line that ``ishmem --help`` shows.
    """

    target: str
    help: str


SUBCOMMANDS = {
    "bench": Subcommand("ishmem.benchmarks.command:command", "Measure speed beside the machine's limit and peers."),
    "demo": Subcommand("ishmem.cli.demo:command", "Run an application on N PEs, check it and draw a picture."),
    "doctor": Subcommand("ishmem.cli.doctor:command", "Check this machine; say what is wrong and how to fix it."),
    "info": Subcommand("ishmem.cli.info:command", "Show versions, devices, links, routes between PEs, and settings."),
    "precompile": Subcommand("ishmem.cli.precompile:command", "Compile device functions: first kernels start sooner."),
    "trace": Subcommand("ishmem.cli.trace:command", "Show what a job did that ran with ishmem run --trace."),
    "tune": Subcommand("ishmem.benchmarks.tune:command", "Measure the algorithms of the collectives; keep a profile."),
    "run": Subcommand("ishmem.cli.command:run", "Start a program on N PEs; ishmrun is another name of it."),
}
"""The subcommands by name."""


class _Lazy(click.Group):
    """A click group that imports the module of a command at its first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in SUBCOMMANDS:
            return None
        module, attribute = SUBCOMMANDS[name].target.split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args[0] not in SUBCOMMANDS and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], SUBCOMMANDS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"allowed are {', '.join(sorted(SUBCOMMANDS))}"
            ctx.fail(f"no such command: {args[0]}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUBCOMMANDS[name].help) for name in self.list_commands(ctx)])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="ishmem4py", message="ishmem %(version)s")
def command() -> None:
    """SHMEM for Intel GPUs, in Python."""


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False},
)
@click.pass_context
def run(ctx: click.Context) -> None:
    """Start a program on N PEs; ishmrun is another name of it."""
    from ishmem.launch import run as launcher

    ctx.exit(launcher.main(ctx.args))


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command, by default on ``sys.argv``; exit with its status, or 2 for wrong usage or without a device."""
    processes.settle()
    try:
        command.main(arguments, prog_name="ishmem")
    except (IshmemError, ImportError, ValueError, OSError) as error:
        print(f"ishmem: {error}", file=sys.stderr)
    sys.exit(2)
