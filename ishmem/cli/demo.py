"""``ishmem demo NAME``: run an application of ``ishmem.examples.apps`` on N PEs."""

from __future__ import annotations

import click


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    options_metavar="[-n N] [--sim M]",
)
@click.argument("name", required=False)
@click.option("-n", "n_pes", type=click.IntRange(1), default=4)
@click.option("--sim", type=click.IntRange(1))
@click.option("-h", "--help", "wants_help", is_flag=True)
@click.pass_context
def command(ctx: click.Context, name: str | None, n_pes: int, sim: int | None, wants_help: bool) -> None:
    """Run an application, check its result and draw a picture; without a name, list the applications."""
    from ishmem.examples.apps import APPS, find

    if name is None:
        click.echo("ishmem demo NAME [-n N] [--sim M] [OPTIONS]     on N PEs (4) and M simulated GPUs")
        click.echo("ishmem demo NAME --help                         the options of an application\n")
        width = max(map(len, APPS)) + 2
        for each in APPS:
            click.echo(f"{each:{width}}{(find(each).__doc__ or '').splitlines()[0]}")
        return
    try:
        find(name)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    ctx.exit(_start(name, n_pes, sim, [*ctx.args, *(["--help"] if wants_help else [])]))


def _start(name: str, n_pes: int, sim: int | None, arguments: list[str]) -> int:
    from ishmem.examples.apps.__main__ import parse
    from ishmem.launch import run

    parse([name, *arguments])  # wrong options end this process, not every PE
    simulated = ["--sim", str(sim)] if sim else []
    return run.main(["-n", str(n_pes), "--no-prefix", *simulated, "-m", "ishmem.examples.apps", name, *arguments])
