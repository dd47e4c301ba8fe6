"""Progress of a comparison: a live table on a terminal, silence elsewhere unless asked.

The first line says how long it will take, as far as `costs` can predict. Then, on a
terminal, there is one line for each method with folds done, the fold being fitted and
for how long, the score so far and the time left, under the time left in all. Elsewhere,
if progress is asked for, there is one plain line for each method that is done, with the
time left in all, and for each fit that is slow, and one a minute if nothing else is
said. A fit to come is taken to last as long as the method's fits so far; of a method
not begun yet, as long as `costs` predicts, times how long the others took for each
second predicted.
"""

import sys
import time
from enum import Enum, auto
from typing import Any

import numpy as np

from ...core.plain_text import plain_text
from .. import resource_limits
from ..methods.costs import (
    expected_duration,
    fit_and_predict_seconds,
    format_duration,
)

SLOW_SECONDS = 10.0  # seconds after which a fit may be called slow
SLOW_FACTOR = 5.0  # as long as the method's other fits
STEP_SECONDS = 5.0  # between plain lines of one step after the fits
SILENCE_SECONDS = 60.0  # after which a plain line says how far it is


class MethodState(Enum):
    """Progress of one method."""

    WAITING = auto()
    RUNNING = auto()
    SLOW = auto()  # one of its fits takes unusually long
    DONE = auto()
    STOPPED = auto()  # in the race
    FAILED = auto()


class ProgressDisplay:
    """Shows a `TrialAggregator` while it fills; `update` gets the active fits."""

    def __init__(self, wanted, names, work, aggregator, limits):
        self.names, self.aggregator, self.limits = names, aggregator, limits
        self.total = len(work.folds)
        self.metric = work.metrics[0].name
        self.work = work
        self.live = wanted is not False and sys.stderr.isatty()
        self.plain = wanted is True and not self.live
        self.active: tuple = ()
        self.reported: set = set()
        self.screen: Any = None
        self.begun = self.last_line = time.monotonic()
        self.predicted = self.predicted_fits()

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

    def update(self, active) -> None:
        self.active = active
        if self.plain:
            lines = list(self.news())
            now = time.monotonic()
            if not lines and now - self.last_line > SILENCE_SECONDS:
                lines = [self.so_far()]
            for line in lines:
                self.last_line = now
                print(line, file=sys.stderr, flush=True)

    def fits_left(self) -> list[int]:
        """Fits to come, of each method."""
        stopped = self.aggregator.race.stops
        return [
            0 if m in stopped or self.aggregator.failure(m) else self.total - len(done)
            for m, done in enumerate(self.aggregator.done)
        ]

    def expected_fits(self) -> list[float]:
        """Fits to come of each method, fewer where some are likely to be stopped.

        Of the methods that race and are not decided, as many are taken to go on as of
        those that are, and at first a half.
        """
        race = self.aggregator.race
        done = self.aggregator.done
        finished = sum(len(done[m]) == self.total for m in race.racers)
        go_on = (1 + finished) / (2 + finished + len(race.stops))
        first = race.split.per_repeat
        out = [float(k) for k in self.fits_left()]
        for m in race.racers:
            sure = max(first - len(done[m]), 0)
            out[m] = sure + (out[m] - sure) * go_on if out[m] else 0.0
        return out

    def predicted_fits(self) -> list[float]:
        """Seconds of one fit of each method, as `costs` predicts."""
        work = self.work
        n, tested = (np.mean([len(rows) for rows in p]) for p in zip(*work.folds))
        return [
            fit_and_predict_seconds(m, work.schema, n, tested) for m in work.methods
        ]

    def time_left(self) -> str:
        """The time left in all, once a method is done; else nothing."""
        seconds = self.seconds_left()
        return "" if seconds is None else f"about {format_duration(seconds)} left"

    def seconds_left(self) -> float | None:
        """The seconds left in all, once a method is done; else None."""
        left = self.expected_fits()
        before = [self.seconds(m) for m in range(len(self.names))]
        if not sum(left) or not any(len(b) == self.total for b in before):
            return None
        took = [float(np.median(b)) if b else 0.0 for b in before]
        known = sum(p for p, b in zip(self.predicted, before) if b)
        ratio = sum(took) / known if known > 0 else 1.0
        each = [t if b else p * ratio for t, b, p in zip(took, before, self.predicted)]
        return max(float(np.dot(each, left)) / max(len(self.active), 1), 1.0)

    def so_far(self) -> str:
        """Fits done, the time they took, and the time left in all."""
        done = sum(len(d) for d in self.aggregator.done)
        every = done + sum(self.fits_left())
        elapsed = format_elapsed(time.monotonic() - self.begun)
        parts = [f"{done} of {every} fits", elapsed, self.time_left()]
        return ", ".join(part for part in parts if part)

    def promise(self) -> str:
        """Announcement of the number of fits and of the expected time."""
        left = [self.total - len(done) for done in self.aggregator.done]
        fits, names = sum(left), sum(k > 0 for k in left)
        racing = any(left[m] for m in self.aggregator.race.racers)
        size = f"{'up to ' if racing else ''}{fits} fits of {names} methods"
        size = size[:1].upper() + size[1:]
        if self.limits.cluster is not None or not fits:
            return f"{size}."
        n = self.limits.workers
        n = min(resource_limits.default_workers() if n is None else n, fits)
        where = f" in {n} processes" if n > 1 else ""
        work = self.work
        seconds, unknown = expected_duration(
            work.methods, self.expected_fits(), work.schema, work.folds, n
        )
        about = "at least" if unknown else "about"
        duration = format_duration(max(seconds, 1.0))
        return f"{size}{where}: {about} {duration} on this machine."

    # --- states ----------------------------------------------------------------

    def status(self) -> dict:
        """How far the run is, ready for JSON: counts, seconds, every method's state."""
        methods = {
            name: {
                "state": self.state(m)[0].name.lower(),
                "text": plain_text(self.describe_state(m)),
                "fits": len(self.aggregator.done[m]),
            }
            for m, name in enumerate(self.names)
        }
        return {
            "fits": sum(len(d) for d in self.aggregator.done),
            "left": sum(self.fits_left()),
            "seconds": round(time.monotonic() - self.begun, 1),
            "seconds_left": self.seconds_left(),
            "folds": self.total,
            "methods": methods,
        }

    def state(self, m) -> tuple[MethodState, Any]:
        """The state of method m, and the slow fold if there is one."""
        if self.aggregator.failure(m):
            return MethodState.FAILED, None
        if m in self.aggregator.race.stops:
            return MethodState.STOPPED, None
        if len(self.aggregator.done[m]) == self.total:
            return MethodState.DONE, None
        slow = self.slow(m)
        if slow is not None:
            return MethodState.SLOW, slow
        return (MethodState.RUNNING if self.at_work(m) else MethodState.WAITING), None

    def describe_state(self, m) -> str:
        state, slow = self.state(m)
        if state is MethodState.FAILED:
            return f"out: {self.aggregator.failure(m)}"
        if state is MethodState.STOPPED:
            stop = self.aggregator.race.stops[m]
            return f"stopped after {stop.fits} of {stop.planned} fits"
        if state is MethodState.SLOW:
            fold, seconds = slow
            limit = self.limits.time_limit
            most = "" if limit is None else f" of {limit:g} s"
            return f"slow: fold {fold + 1} for {seconds:.0f} s{most}"
        return state.name.lower()

    def at_work(self, m):
        now = time.monotonic()
        return [(d.fold, now - d.since) for d in self.active if d.method == m]

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
        return [
            o.fit_seconds for o in self.aggregator.done[m].values() if not o.failure
        ]

    def score(self, m) -> str:
        done = self.aggregator.done[m].values()
        results = [o.scores[self.metric] for o in done if not o.failure]
        return f"{np.mean(results):.4g}" if results else ""

    def left(self, m) -> str:
        """Time to go of a method that is at work, if all keep helping."""
        before = self.seconds(m)
        todo = self.total - len(self.aggregator.done[m])
        if not before or not todo or not self.at_work(m):
            return ""
        hands = max(len(self.active), 1)
        return format_elapsed(float(np.median(before)) * todo / hands)

    def news(self):
        """Lines about methods that have changed since the last call."""
        for m, name in enumerate(self.names):
            state, slow = self.state(m)
            key = m, state, slow[0] if slow else None
            quiet = state in (MethodState.WAITING, MethodState.RUNNING)
            if quiet or key in self.reported:
                continue
            self.reported.add(key)
            done = state in (MethodState.DONE, MethodState.STOPPED)
            score = f", {self.metric} {self.score(m)}" if done else ""
            text = f"{name}: {self.describe_state(m)}{score} ({self.so_far()})"
            yield " ".join(plain_text(text).split())

    def table(self):
        from rich.table import Table
        from rich.text import Text

        table = Table(title=self.so_far(), title_justify="left", box=None)
        for head in ("method", "folds", "at work", self.metric, "left", "state"):
            table.add_column(head, justify="left" if head != "folds" else "right")
        shown, hidden = self.rows()
        for m in shown:
            work = ", ".join(
                f"{f + 1} ({format_elapsed(s)})" for f, s in self.at_work(m)
            )
            cells = [
                self.names[m],
                f"{len(self.aggregator.done[m])}/{self.total}",
                work,
                self.score(m),
                self.left(m),
                self.describe_state(m),
            ]
            table.add_row(*(Text(plain_text(cell)) for cell in cells))
        if hidden:
            table.add_row(Text(f"... and {hidden} more"))
        return table

    def rows(self) -> tuple[list[int], int]:
        """Methods that have room on the screen: those at work first."""
        room = max(self.screen.console.size.height - 5, 3) if self.screen else 40
        every = range(len(self.names))
        waiting = lambda m: self.state(m)[0] is MethodState.WAITING
        rank = lambda m: (not self.at_work(m), waiting(m), -m)
        keep = sorted(every, key=rank)[:room]
        return sorted(keep), len(self.names) - len(keep)


class StepDisplay:
    """Shows what is done after the fits: on a terminal one line that changes, elsewhere
    a line a step, and one every few seconds within a long step.

    `tell` is called when a step begins and when a part of it is done.
    """

    def __init__(self, wanted):
        self.live = wanted is not False and sys.stderr.isatty()
        self.plain = wanted is True and not self.live
        self.step = ""
        self.begun = self.last_line = time.monotonic()
        self.screen: Any = None

    def __enter__(self):
        if self.live:
            from rich.console import Console

            self.screen = Console(stderr=True).status("")
            self.screen.start()
        return self

    def __exit__(self, *_):
        if self.screen is not None:
            self.screen.stop()

    def tell(self, step, done=0, total=0) -> None:
        now = time.monotonic()
        is_new = step != self.step
        if is_new:
            self.step, self.begun = step, now
        text = self.describe(now, done, total)
        if self.screen is not None:
            self.screen.update(plain_text(text))
        elif self.plain and (is_new or now - self.last_line > STEP_SECONDS):
            self.last_line = now
            print(plain_text(text), file=sys.stderr, flush=True)

    def describe(self, now, done, total) -> str:
        """`drawing figures (12 of 30, 4.0 s, about 6 s left)`."""
        if not total:
            return f"{self.step} ..."
        elapsed = now - self.begun
        parts = [f"{done} of {total}", format_elapsed(elapsed)]
        if done:
            left = format_duration(max(elapsed / done * (total - done), 1.0))
            parts.append(f"about {left} left")
        return f"{self.step} ({', '.join(parts)})"


def format_elapsed(seconds) -> str:
    """1.5 s, 42 s, 3:05, 2:10:00."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
