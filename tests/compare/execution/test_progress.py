"""The live table of a run on a terminal."""

import io
import time

from sklearn.linear_model import LinearRegression

from pansophy.compare.execution import progress
from tests.compare.faulty_estimators import Case, Mean


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Watched(Mean):
    """Fits until it has been shown as slow, and others as done."""

    screen = Terminal()

    def fit(self, X, y):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            text = self.screen.getvalue()
            if "slow: fold" in text and "10/10" in text:
                break
            time.sleep(0.01)
        return super().fit(X, y)


def test_live_table_on_a_terminal(monkeypatch):
    screen = Watched.screen
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "SLOW_SECONDS", 0.01)
    monkeypatch.setattr(progress, "SLOW_FACTOR", 0.0)
    own = {"[b]line": LinearRegression(), "slow": Watched()}
    Case(own, repeats=2).run(workers=0, show=None, time_limit=90)
    text = screen.getvalue()
    assert text.startswith("30 fits of 3 methods: at least 1 s on this machine.")
    assert "[b]line" in text and "10/10" in text and "of 30 fits" in text
    assert "slow: fold" in text and "of 90 s" in text
    assert (
        progress.format_elapsed(3.21) == "3.2 s"
        and progress.format_elapsed(59.6) == "60 s"
    )
    assert (
        progress.format_elapsed(185) == "3:05"
        and progress.format_elapsed(7800) == "2:10:00"
    )


def test_steps_after_the_fits_are_told(capsys, monkeypatch):
    from pansophy.compare.execution import progress

    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.StepDisplay(True) as steps:
        steps.tell("fitting ridge on all rows")
        for done in range(4):
            steps.tell("drawing figures", done, 4)
            now[0] += 4.0
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "fitting ridge on all rows ...",
        "drawing figures (0 of 4, 0.0 s)",
        "drawing figures (2 of 4, 8.0 s, about 8 s left)",
    ]
    for wanted in (False, None):  # nothing is asked for, or there is no terminal
        with progress.StepDisplay(wanted) as steps:
            steps.tell("drawing figures", 1, 4)
    assert not capsys.readouterr().err
