"""`pansophy warm`: compile or verify all loops for this machine."""

import time
from typing import Annotated

import typer

from .app import HelpfulCommand, app, errors_as_one_sentence, print_text

EXAMPLES = """Examples:

pansophy warm

pansophy warm pansophy.cluster pansophy.tree --jobs 4"""


@app.command(cls=HelpfulCommand, epilog=EXAMPLES)
def warm(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAMES",
            help="Packages or public names, e.g. `pansophy.tree`; all by default.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of processes; one for each core if absent."),
    ] = None,
):
    """Compile all loops for this machine now, so that no later call has to wait."""
    with errors_as_one_sentence():
        from ..core.loop_cache import shipped_levels, user_folder
        from ..testing import usual_names, warm_up

        chosen = None
        if names:
            chosen = [
                n
                for n in usual_names()
                if any(f"{n}.".startswith(f"{wanted}.") for wanted in names)
            ]
            if not chosen:
                raise ValueError(
                    f"No public name begins with {' or '.join(names)}; `pansophy "
                    "methods` lists them."
                )
        began = time.perf_counter()
        total = len(chosen) if chosen else len(usual_names()) + 1
        with typer.progressbar(length=total, label="Compiling loops") as bar:
            reports = warm_up(chosen, jobs, report=lambda done: bar.update(1))
        compiled = sum(r.compiled for r in reports)
        seconds = time.perf_counter() - began
        levels = " and ".join(level.name for level in shipped_levels())
        source = f" Shipped loops are used (for {levels})." if levels else ""
        print_text(
            f"{compiled} loops compiled, all others found, in {seconds:.0f} s; kept in "
            f"{user_folder()}.{source}"
        )
