"""Honesty of `compare`: what it says, on tables of which the truth is known.

    python -m benchmarks.studies.honesty [--minutes 25] [--runs 20] [--setting NAME ...]
    python -m benchmarks.studies.honesty --table

Each setting of `SETTINGS` makes a table from a seed: rows to compare, and many new ones
on which the kept model is scored. What the comparison says is held against that:

false winner   the kept method is called better than the dummy where no column tells
               anything (2 % at most)
found          it is called so where columns do tell something
inside         the score to expect lies inside its own interval (always)
holds          the interval holds the score on the new rows (91 to 99 %)
bands          share of new rows in 90 % intervals: over all, in the lowest and highest
               tenth of the prediction, in the subgroup with the largest errors (84 to
               96 %)
task           the target is read as what it was made as
design         persons, time, counted rows and follow-up times are found where they
               are, and only there
leaks          columns that hold the answer are an alarm
false alarms   alarms about columns that do not

A run is one line of `honesty.jsonl`, so that the study can be run in parts and goes on;
runs of another commit are kept and counted apart. `--table` writes `honesty.md`.
Methods are cheap, two cross-validations of five folds each: what is judged are the
statistics, which are the same for all methods. Scores of new rows of 95 % intervals are
means over `NEW_ROWS` rows, so that their own error is small.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.stamp import commit

HERE = Path(__file__).parent
RECORD = HERE / "honesty.jsonl"
PAGE = HERE / "honesty.md"
NEW_ROWS = 8000
LEVEL = 0.9
CLASSES = ("logistic regression", "naive Bayes", "decision tree")
NUMBERS = ("linear regression", "ridge", "decision tree")
COUNTS = ("poisson regression", "nearest neighbours", "decision tree")


class Made(NamedTuple):
    """A table with known truth."""

    rows: pd.DataFrame  # to be compared
    new: pd.DataFrame  # of the same kind
    noisy: np.ndarray | None = None  # new rows of the subgroup with the largest errors


class Setting(NamedTuple):
    """A kind of table, and what is right about it."""

    make: Callable  # rng -> Made
    methods: tuple = CLASSES
    task: str = "classification"
    signal: bool = True
    design: str = ""  # "entity", "time", "event", "cells"
    leak: str = ""  # the column that gives the answer away
    options: dict = {}
    target: str = "y"
    scored: bool = True  # whether new rows are of the kind that the score is about


# --- tables ------------------------------------------------------------------------


def columns(rng, n, d=6) -> pd.DataFrame:
    """Numbers and a category that are there in every table."""
    X = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{j}" for j in range(d)])
    X["kind"] = rng.choice(["u", "v", "w"], n)
    return X


def cut(frame, n) -> Made:
    return Made(frame[:n].reset_index(drop=True), frame[n:].reset_index(drop=True))


def two_classes(rng, n, *, strength=1.0, rate=0.5, d=6) -> Made:
    frame = columns(rng, n + NEW_ROWS, d)
    z = strength * (frame["x0"] + 0.5 * frame["x1"] + 0.3 * (frame["kind"] == "u"))
    z = z + np.log(rate / (1 - rate))
    frame["y"] = np.where(rng.random(len(z)) < 1 / (1 + np.exp(-z)), "yes", "no")
    return cut(frame, n)


def many_classes(rng, n, k, strength=1.0) -> Made:
    frame = columns(rng, n + NEW_ROWS)
    logits = strength * frame[["x0", "x1", "x2"]].to_numpy() @ rng.normal(size=(3, k))
    gumbel = -np.log(-np.log(rng.random(logits.shape)))
    frame["y"] = [f"c{j:02}" for j in (logits + gumbel).argmax(1)]
    return cut(frame, n)


def numbers(rng, n, *, strength=1.0, df=np.inf, d=6) -> Made:
    frame = columns(rng, n + NEW_ROWS, d)
    N = len(frame)
    e = rng.normal(size=N) if np.isinf(df) else rng.standard_t(df, N)
    frame["y"] = strength * (frame["x0"] + 0.5 * frame["x1"]) + e
    return cut(frame, n)


def noisier_numbers(rng, n) -> Made:
    """Errors that grow with a column; the noisiest sixth is the subgroup."""
    made = numbers(rng, n, strength=0.0)
    frame = pd.concat([made.rows, made.new], ignore_index=True)
    frame["y"] = frame["x0"] + frame["y"] * np.exp(0.8 * frame["x1"])
    made = cut(frame, n)
    x = made.new["x1"].to_numpy()
    return made._replace(noisy=x > np.quantile(x, 5 / 6))


def amounts(rng, n) -> Made:
    """Log-normal amounts."""
    frame = columns(rng, n + NEW_ROWS)
    frame["y"] = np.exp(0.6 * frame["x0"] + 0.6 * rng.normal(size=len(frame)) + 3)
    return cut(frame, n)


def counts(rng, n, mean, *, shape=np.inf) -> Made:
    """Poisson counts, or negative binomial ones of a shape."""
    frame = columns(rng, n + NEW_ROWS)
    mu = mean * np.exp(0.5 * frame["x0"].to_numpy() - 0.125)
    if np.isfinite(shape):
        mu = mu * rng.gamma(shape, 1 / shape, len(mu))
    frame["y"] = rng.poisson(mu)
    return cut(frame, n)


def persons(rng, n, visits=5) -> Made:
    """Several rows a person, who has a level of their own; new rows are of others."""
    count = (n + NEW_ROWS) // visits
    frame = columns(rng, count * visits)
    who = np.repeat(np.arange(count), visits)
    frame["age"] = rng.integers(20, 80, count)[who]
    frame["site"] = rng.choice(["a", "b", "c", "d"], count)[who]
    level = 1.5 * rng.normal(size=count)
    frame["y"] = level[who] + 0.7 * frame["x0"] + rng.normal(size=len(frame))
    frame.insert(0, "person", 1000 + who)
    return cut(frame, n)


def series(rng, n) -> Made:
    """A walk with a date; the rows that come later are another question."""
    frame = columns(rng, n + 200)
    frame["y"] = np.cumsum(rng.normal(size=len(frame))) + 0.3 * frame["x0"]
    frame.insert(0, "day", pd.date_range("2020-01-01", periods=len(frame)).astype(str))
    return cut(frame, n)


def frequency_table(rng, n) -> Made:
    """Cells of a frequency table, with how many persons are in each."""
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n + NEW_ROWS),
            "grade": rng.choice(["1", "2", "3"], n + NEW_ROWS),
            "home": rng.choice(["town", "village"], n + NEW_ROWS),
        }
    )
    z = 0.9 * (frame["sex"] == "f") - 0.7 * (frame["grade"] == "3") + 0.1
    frame["y"] = np.where(rng.random(len(z)) < 1 / (1 + np.exp(-z)), "yes", "no")
    made = cut(frame, n)
    cells = made.rows.value_counts().rename("people").reset_index()
    return Made(cells.sort_values(list(frame.columns)).reset_index(drop=True), made.new)


def follow_up(rng, n) -> Made:
    """Time to an event, with rows that were not followed to the end."""
    frame = columns(rng, n + NEW_ROWS)
    event = rng.exponential(10 * np.exp(-0.8 * frame["x0"]))
    until = rng.uniform(2, 25, len(frame))
    frame["months"] = np.minimum(event, until).round(2)
    frame["died"] = (event <= until).astype(int)
    return cut(frame, n)


def with_leak(made, name, leak) -> Made:
    """The table with a column that gives the answer away."""
    both = [frame.assign(**{name: leak(frame)}) for frame in (made.rows, made.new)]
    return made._replace(rows=both[0], new=both[1])


def matched(rng, n) -> Made:
    """Cases and controls matched by age: a design, and no leak."""
    age = np.repeat(rng.integers(30, 60, (n + NEW_ROWS) // 3), 3)
    frame = columns(rng, len(age)).assign(age=age)
    frame["y"] = np.tile(["case", "control", "control"], len(age) // 3)
    frame.loc[frame["y"] == "case", "x0"] += 0.8
    order = rng.permutation(n // 3 * 3)
    made = cut(frame, len(order))
    return made._replace(rows=made.rows.iloc[order].reset_index(drop=True))


NOISE = {"signal": False}
REGRESSION = {"methods": NUMBERS, "task": "regression"}
COUNT = {"methods": COUNTS, "task": "count"}
SETTINGS = {
    "noise, 2 classes, 120 rows": Setting(
        lambda rng: two_classes(rng, 120, strength=0), **NOISE
    ),
    "noise, 5 % events, 250 rows": Setting(
        lambda rng: two_classes(rng, 250, strength=0, rate=0.05), **NOISE
    ),
    "noise, 10 classes, 250 rows": Setting(
        lambda rng: many_classes(rng, 250, 10, 0.0), **NOISE
    ),
    "noise, numbers, 250 rows": Setting(
        lambda rng: numbers(rng, 250, strength=0), **NOISE, **REGRESSION
    ),
    "noise, heavy tails, 250 rows": Setting(
        lambda rng: numbers(rng, 250, strength=0, df=2.5), **NOISE, **REGRESSION
    ),
    "noise, 60 rows x 200": Setting(
        lambda rng: two_classes(rng, 60, strength=0, d=200), **NOISE
    ),
    "2 classes, 250 rows": Setting(lambda rng: two_classes(rng, 250)),
    "5 % events, 600 rows": Setting(
        lambda rng: two_classes(rng, 600, rate=0.05, strength=1.5)
    ),
    "3 classes, 300 rows": Setting(lambda rng: many_classes(rng, 300, 3)),
    "30 classes, 900 rows": Setting(lambda rng: many_classes(rng, 900, 30, 2.0)),
    "tiny, 40 rows": Setting(lambda rng: two_classes(rng, 40, strength=2)),
    "wide, 80 rows x 200": Setting(
        lambda rng: numbers(rng, 80, strength=3, d=200),
        ("lasso", "ridge"),
        "regression",
    ),
    "numbers, 250 rows": Setting(lambda rng: numbers(rng, 250), **REGRESSION),
    "noise that grows, 300 rows": Setting(
        lambda rng: noisier_numbers(rng, 300), **REGRESSION
    ),
    "heavy tails (t, 5 df), 250 rows": Setting(
        lambda rng: numbers(rng, 250, df=5), **REGRESSION
    ),
    "log-normal amounts, 300 rows": Setting(
        lambda rng: amounts(rng, 300), **REGRESSION
    ),
    "counts, mean 2, 300 rows": Setting(lambda rng: counts(rng, 300, 2), **COUNT),
    "counts, mean 12, 300 rows": Setting(lambda rng: counts(rng, 300, 12), **COUNT),
    "overdispersed counts, 300 rows": Setting(
        lambda rng: counts(rng, 300, 4, shape=1.5), **COUNT
    ),
    "persons with 5 rows, 300 rows": Setting(
        lambda rng: persons(rng, 300), **REGRESSION, design="entity"
    ),
    "a walk along time, 300 rows": Setting(
        lambda rng: series(rng, 300), **REGRESSION, design="time", scored=False
    ),
    "frequency table, 900 people": Setting(
        lambda rng: frequency_table(rng, 900),
        options={"weight": "people"},
        design="cells",
    ),
    "time to an event, 300 rows": Setting(
        lambda rng: follow_up(rng, 300), design="event", target="died", scored=False
    ),
    "leak: a copy with noise": Setting(
        lambda rng: with_leak(
            numbers(rng, 250),
            "score",
            lambda f: 3 * f["y"] + 0.01 * rng.normal(size=len(f)),
        ),
        **REGRESSION,
        leak="score",
        scored=False,
    ),
    "leak: a product with a column": Setting(
        lambda rng: with_leak(
            with_leak(numbers(rng, 250), "size", lambda f: np.exp(f["x2"])),
            "part",
            lambda f: f["y"] * f["size"],
        ),
        **REGRESSION,
        leak="part",
        scored=False,
    ),
    "leak: a number cut at a limit": Setting(
        lambda rng: with_leak(
            two_classes(rng, 120),
            "weight",
            lambda f: rng.uniform(0, 1, len(f)) * 500 + 500 * (f["y"] == "yes"),
        ),
        leak="weight",
        scored=False,
    ),
    "matched cases and controls": Setting(lambda rng: matched(rng, 240), scored=False),
}


# --- one run -----------------------------------------------------------------------


def run(name, seed) -> dict:
    """Facts about one comparison: numbers and truths, ready for JSON."""
    from pansophy import compare

    setting = SETTINGS[name]
    rng = np.random.default_rng([seed, list(SETTINGS).index(name)])
    made = setting.make(rng)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        c = compare(
            made.rows,
            setting.target,
            methods=list(setting.methods),
            repeats=1 if setting.design in ("time", "cells") else 2,
            workers=0,
            random_state=seed,
            **setting.options,
        )
        facts = statements(c, setting)
        if setting.scored:
            facts |= truths(c, made)
    spent = round(time.process_time() - started, 2)
    return {"setting": name, "seed": seed, **facts, "seconds": spent}


def statements(c, setting) -> dict:
    """What the comparison says about the table, and whether that is so."""
    better = any(b.method == "dummy" and b.significant for b in c.baselines)
    e = c.expected_score
    alarms = [f for f in c.findings if f.severity == "alarm"]
    told = lambda f: setting.leak in (f.column, *str(f.text).split("'"))
    return {
        "kept": c.winner,
        "called_better": bool(better and c.winner != "dummy"),
        "expected": [e.mean, e.low, e.high],
        "inside": bool(e.low <= e.mean <= e.high),
        "task": c.schema.task,
        "task_right": c.schema.task == setting.task,
        "design": found_designs(c),
        "design_right": found_designs(c) == [d for d in [setting.design] if d],
        "leak_found": bool(alarms and any(told(f) for f in alarms))
        if setting.leak
        else None,
        "alarms": [f.kind for f in alarms],
        "false_alarms": 0 if setting.leak or setting.design else len(alarms),
    }


def found_designs(c) -> list[str]:
    """What the rows were found, or told, to be: names as in `Setting.design`."""
    design = c.dataset.design
    out = []
    if design is not None:
        out = [k for k in ("entity", "time", "event") if getattr(design, k) is not None]
    return out + (["cells"] if c.dataset.cells is not None else [])


def truths(c, made) -> dict:
    """The score of the kept model on new rows, and what its bands hold there."""
    if c.schema.task == "classification":  # a class may be too rare to be seen
        seen = made.new["y"].isin(made.rows["y"].unique())
        made = made._replace(new=made.new[seen])
    X = made.new.drop(columns="y")
    y = c.schema.target_values(as_arrow(made.new))
    metric = c.metrics[0]
    if c.schema.task == "classification":
        p = np.asarray(c.model.predict_proba(X))
        return {"true": float(metric.score(y, p))}
    p = np.asarray(c.model.predict(X), float)
    out = {"true": float(metric.score(y, p))}
    low, high = np.asarray(c.model.predict_interval(X, LEVEL), float).T
    held = (low <= y) & (y <= high)
    out["band"] = float(held.mean())
    if len(np.unique(p)) >= 10:
        order = np.argsort(p, kind="stable")
        tenth = len(p) // 10
        out["band_lowest"] = float(held[order[:tenth]].mean())
        out["band_highest"] = float(held[order[-tenth:]].mean())
    if made.noisy is not None:
        out["band_noisy"] = float(held[made.noisy].mean())
    return out


def as_arrow(frame):
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)


# --- record and table --------------------------------------------------------------


def read_record(path=RECORD) -> list[dict]:
    """The runs so far."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


def next_runs(done, names, runs):
    """Runs that are missing, one of each setting after the other."""
    have = {(r["setting"], r["seed"]) for r in done}
    return [(k, s) for s in range(runs) for k in names if (k, s) not in have]


def share(runs, key) -> str:
    """`19 of 20` of the runs in which something is known."""
    known = [r[key] for r in runs if r.get(key) is not None]
    return f"{sum(known)} of {len(known)}" if known else ""


def mean_percent(runs, key) -> str:
    known = [r[key] for r in runs if r.get(key) is not None]
    return f"{100 * np.mean(known):.0f}" if known else ""


def summary_row(name, runs) -> list[str]:
    """One line of the table."""
    setting = SETTINGS[name]
    for r in runs:
        if "true" in r:
            _, low, high = r["expected"]
            r["holds"] = low <= r["true"] <= high
    better = share(runs, "called_better")
    return [
        name,
        str(len(runs)),
        "" if setting.signal else better,
        better if setting.signal and not setting.leak else "",
        share(runs, "inside"),
        share(runs, "holds"),
        mean_percent(runs, "band"),
        mean_percent(runs, "band_lowest"),
        mean_percent(runs, "band_highest"),
        mean_percent(runs, "band_noisy"),
        share(runs, "task_right"),
        share(runs, "design_right"),
        share(runs, "leak_found"),
        "" if setting.leak else str(sum(r["false_alarms"] for r in runs)),
    ]


HEAD = [
    "setting", "runs", "false winners", "found", "inside", "holds", "band",
    "lowest tenth", "highest tenth", "noisy sixth", "task", "design", "leak",
    "false alarms",
]  # fmt: skip


def page(done) -> str:
    """The table in Markdown, with the commits and days of its runs."""
    commits = sorted({r["commit"] for r in done})
    days = sorted({r["date"] for r in done})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    lines = [
        "# Honesty of `compare` on tables of which the truth is known",
        "",
        f"Made by `python -m benchmarks.studies.honesty --table` from {len(done)} runs "
        f"at commit {', '.join(commits)}, {when}. The text of the program says what is "
        "counted; shares of bands are percent of new rows in 90 % intervals.",
        "",
        f"| {' | '.join(HEAD)} |",
        f"|{'---|' * len(HEAD)}",
    ]
    for name in SETTINGS:
        runs = [r for r in done if r["setting"] == name]
        if runs:
            lines.append(f"| {' | '.join(summary_row(name, runs))} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--setting", nargs="*", default=list(SETTINGS))
    parser.add_argument("--table", action="store_true")
    chosen = parser.parse_args()
    done = read_record()
    if not chosen.table:
        end = time.monotonic() + 60 * chosen.minutes
        at = {"commit": commit(), "date": str(datetime.now(UTC).date())}
        for name, seed in next_runs(done, chosen.setting, chosen.runs):
            if time.monotonic() > end:
                break
            done.append({**run(name, seed), **at})
            with open(RECORD, "a", encoding="utf-8") as file:
                file.write(json.dumps(done[-1]) + "\n")
            print(name, seed, done[-1]["seconds"], flush=True)
    PAGE.write_text(page(done), "utf-8")


if __name__ == "__main__":
    main()
