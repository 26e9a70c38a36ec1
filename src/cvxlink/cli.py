"""The command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from . import __version__
from .errors import CvxlinkError

app = typer.Typer(
    help="Convex programs for clustering with must-links and cannot-links.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def main() -> None:
    """Convex programs for clustering with must-links and cannot-links."""


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(__version__)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("cvxlink-demo"),
    time_limit: Annotated[
        float, typer.Option(min=0.1, help="Seconds each solver may spend on the paper's form.")
    ] = 8.0,
) -> None:
    """Solve PCP on Iris with every installed solver, in the paper's form and in the reduced one."""
    from .demo import run

    console = Console()
    try:
        run(out, time_limit, console)
    except (CvxlinkError, OSError) as error:
        console.print(f"cvxlink: {error}", style="red", highlight=False)
        raise typer.Exit(1) from error
