"""What is going on: a live table on a terminal, silence in a log unless asked.

First of all how long it will take, as far as `costs` can tell. Then, on a terminal: one
line a method with folds done, the fold at work and for how long, the score so far and
the time left. Asked for elsewhere: one plain line for each method that is done and each
fit that is slow.
"""

import sys
import time
from typing import Any

import numpy as np

from .. import resource_limits
from ..methods.costs import expected_duration, format_duration

SLOW_SECONDS = 10.0  # seconds after which a fit may be called slow
SLOW_FACTOR = 5.0  # as long as the method's other fits


class ProgressDisplay:
    """Shows a `Tally` while it fills; `update` is called with what is being done."""

    def __init__(self, wanted, names, work, tally, running):
        self.names, self.tally, self.running = names, tally, running
        self.total = len(work.folds)
        self.metric = work.metrics[0].name
        self.work = work
        self.live = wanted is not False and sys.stderr.isatty()
        self.plain = wanted is True and not self.live
        self.doing: tuple = ()
        self.told: set = set()
        self.screen: Any = None
        self.begun = time.monotonic()

    def __enter__(self):
        if self.plain:
            print(self.promise(), file=sys.stderr, flush=True)
        if self.live:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True)
            console.print(self.promise(), highlight=False)
            self.screen = Live(
                console=console,
                get_renderable=self.table,
                refresh_per_second=4,
                transient=True,
                vertical_overflow="ellipsis",
            )
            self.screen.start()
        return self

    def __exit__(self, *_):
        if self.screen is not None:
            self.screen.stop()

    def update(self, doing) -> None:
        self.doing = doing
        if self.plain:
            for line in self.news():
                print(line, file=sys.stderr, flush=True)

    def promise(self) -> str:
        """How many fits are to be done, and how long that will take."""
        left = [self.total - len(done) for done in self.tally.done]
        fits, names = sum(left), sum(k > 0 for k in left)
        told = f"{fits} fits of {names} methods"
        if self.running.cluster is not None or not fits:
            return f"{told}."
        n = self.running.workers
        n = min(resource_limits.default_workers() if n is None else n, fits)
        where = f" in {n} processes" if n > 1 else ""
        work = self.work
        seconds, unknown = expected_duration(
            work.methods, left, work.schema, work.folds, n
        )
        about = "at least" if unknown else "about"
        return f"{told}{where}: {about} {format_duration(max(seconds, 1.0))} on this machine."

    # --- words -----------------------------------------------------------------

    def state(self, m) -> str:
        if self.tally.failure(m):
            return "out: " + self.tally.failure(m)
        if len(self.tally.done[m]) == self.total:
            return "done"
        slow = self.slow(m)
        if slow is not None:
            limit = self.running.time_limit
            most = "" if limit is None else f" of {limit:g} s"
            return f"slow: fold {slow[0] + 1} for {slow[1]:.0f} s{most}"
        return "running" if self.at_work(m) else "waiting"

    def at_work(self, m):
        now = time.monotonic()
        return [(d.fold, now - d.since) for d in self.doing if d.method == m]

    def slow(self, m):
        """(fold, seconds) of a fit that takes unusually long."""
        before = self.seconds(m)
        usual = (
            max(SLOW_SECONDS, SLOW_FACTOR * float(np.median(before)))
            if before
            else SLOW_SECONDS
        )
        late = [(f, s) for f, s in self.at_work(m) if s > usual]
        return max(late, key=lambda k: k[1]) if late else None

    def seconds(self, m) -> list[float]:
        return [o.fit_seconds for o in self.tally.done[m].values() if not o.failure]

    def score(self, m) -> str:
        done = self.tally.done[m].values()
        found = [o.scores[self.metric] for o in done if not o.failure]
        return f"{np.mean(found):.4g}" if found else ""

    def left(self, m) -> str:
        """Time to go of a method that is at work, if all keep helping."""
        before, todo = self.seconds(m), self.total - len(self.tally.done[m])
        if not before or not todo or not self.at_work(m):
            return ""
        hands = max(len(self.doing), 1)
        return format_elapsed(float(np.median(before)) * todo / hands)

    def news(self):
        """Lines not yet told."""
        for m, name in enumerate(self.names):
            state = self.state(m)
            key = m, state.split(" for ")[0]
            if state in ("waiting", "running") or key in self.told:
                continue
            self.told.add(key)
            score = f", {self.metric} {self.score(m)}" if state == "done" else ""
            yield f"{name}: {state}{score}"

    def table(self):
        from rich.table import Table
        from rich.text import Text

        done = sum(len(d) for d in self.tally.done)
        every = len(self.names) * self.total
        elapsed = format_elapsed(time.monotonic() - self.begun)
        table = Table(
            title=f"{done} of {every} fits, {elapsed}", title_justify="left", box=None
        )
        for head in ("method", "folds", "at work", self.metric, "left", "state"):
            table.add_column(head, justify="left" if head != "folds" else "right")
        shown, hidden = self.rows()
        for m in shown:
            work = ", ".join(
                f"{f + 1} ({format_elapsed(s)})" for f, s in self.at_work(m)
            )
            cells = [
                self.names[m],
                f"{len(self.tally.done[m])}/{self.total}",
                work,
                self.score(m),
                self.left(m),
                self.state(m),
            ]
            table.add_row(*map(Text, cells))  # names are not markup
        if hidden:
            table.add_row(Text(f"... and {hidden} more"))
        return table

    def rows(self) -> tuple[list[int], int]:
        """Methods that have room on the screen: those at work first."""
        room = max(self.screen.console.size.height - 5, 3) if self.screen else 40
        every = range(len(self.names))
        rank = lambda m: (not self.at_work(m), self.state(m) == "waiting", -m)
        keep = sorted(every, key=rank)[:room]
        return sorted(keep), len(self.names) - len(keep)


def format_elapsed(seconds) -> str:
    """1.5 s, 42 s, 3:05, 2:10:00."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
