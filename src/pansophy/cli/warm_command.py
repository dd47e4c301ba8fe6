"""`pansophy warm`: compile or verify all loops for this machine."""

import sys
import time
from typing import Annotated

import typer

from .app import (
    AsJson,
    HelpfulCommand,
    app,
    errors_as_one_sentence,
    print_error,
    print_json,
    print_text,
)

SECONDS_BETWEEN_LINES = 15.0

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
    as_json: AsJson = False,
):
    """Compile all loops for this machine now, so that no later call has to wait."""
    with errors_as_one_sentence():
        from ..core.loops.loop_cache import (
            UNEXPECTED,
            reason_not_kept,
            shipped_levels,
            user_folder,
        )
        from ..testing import usual_names

        chosen = names_below(names, usual_names()) if names else None
        reason = reason_not_kept()
        if reason is not None and not shipped_levels():
            raise ValueError(
                f"Compiled loops cannot be kept: {reason}. Set PANSOPHY_CACHE_DIR to a "
                "folder of your own."
            )
        began = time.perf_counter()
        total = len(chosen) if chosen else len(usual_names()) + 1
        reports = warm_up_with_progress(chosen, jobs, total)
        compiled = sum(r.compiled for r in reports)
        seconds = time.perf_counter() - began
        if as_json:
            told = {"compiled": compiled, "seconds": seconds, "kept": reason is None}
            print_json({**told, "folder": str(user_folder())})
            return
        levels = " and ".join(level.name for level in shipped_levels())
        source = f" Shipped loops are used (for {levels})." if levels else ""
        kept = f"kept in {user_folder()}" if reason is None else f"not kept: {reason}"
        if UNEXPECTED:
            kept = f"kept by Numba itself, since {UNEXPECTED}"
        print_text(
            f"{compiled} loops compiled, all others found, in {seconds:.0f} s; "
            f"{kept}.{source}"
        )


def warm_up_with_progress(chosen, jobs, total):
    """Warm up with a bar on a terminal, and a line now and then elsewhere."""
    from ..testing import warm_up

    if sys.stderr.isatty():
        with typer.progressbar(
            length=total, label="Compiling loops", file=sys.stderr
        ) as bar:
            return warm_up(chosen, jobs, report=lambda done: bar.update(1))
    done = 0
    began = told = time.monotonic()
    print_error(f"Compiling loops: {total} names; all of them take half an hour.")

    def report(_):
        nonlocal done, told
        done += 1
        now = time.monotonic()
        if now - told >= SECONDS_BETWEEN_LINES:
            told = now
            left = (now - began) * (total - done) / done
            print_error(f"{done} of {total}, about {left / 60:.0f} min left")

    return warm_up(chosen, jobs, report=report)


def names_below(wanted, public) -> list[str]:
    """The public names that are one of those wanted, or below one of them."""
    below = {w: [n for n in public if f"{n}.".startswith(f"{w}.")] for w in wanted}
    for name, found in below.items():
        if not found:
            raise ValueError(
                f"No public name begins with {name}; `pansophy methods` lists them."
            )
    chosen = {n for found in below.values() for n in found}
    return [n for n in public if n in chosen]
