"""One contender on one table, in a process and a Python of its own.

    python rival_runs.py NAME FOLDER

reads `train.parquet`, `test.parquet` (without the target) and `job.json` from FOLDER
and writes `answer.npz` there: `seconds`, and for every entry of this tool the answers
for the test rows: numbers, probabilities in the order of the job's classes, or codes of
classes where the tool gives no more. Imports only what the contender needs.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np


def tables(folder, job):
    """Dataframes: inputs and target to learn from, inputs to answer."""
    import pandas as pd

    train = pd.read_parquet(folder / "train.parquet")
    test = pd.read_parquet(folder / "test.parquet")
    return train.drop(columns=job["target"]), train[job["target"]], test


def ordered(p, labels, classes):
    """Columns of p in the order of the job's classes; one not seen has 0."""
    out = np.zeros((len(p), len(classes)))
    for j, label in enumerate(map(str, labels)):
        out[:, classes.index(label)] = np.asarray(p)[:, j]
    return out


def codes(labels, classes):
    return np.array([classes.index(str(v)) for v in np.asarray(labels)])


def pansophy(folder, job):
    """Without options but for the repeats; also whatever scored best, kept or not."""
    from pansophy.compare import compare
    from pansophy.tables import read_table

    table, target = read_table(str(folder / "train.parquet")), job["target"]
    test = read_table(str(folder / "test.parquet"))
    begun = time.perf_counter()
    found = compare(
        table,
        target,
        repeats=job["repeats"],
        workers=job["threads"],
        random_state=job["seed"],
        progress=False,
        **job.get("more", {}),
    )
    kept = predicted(found, test, job)
    seconds = time.perf_counter() - begun
    best = found.leaderboard[0].method
    row, first = found.row(found.winner), found.leaderboard[0]
    entries = {"pansophy": kept, "pansophy, best score": kept}
    if best != found.winner:
        found.winner, found._model = best, None
        entries["pansophy, best score"] = predicted(found, test, job)
    span = lambda s: [s.mean, s.low, s.high]
    metric = found.metric
    facts = {
        "task": found.schema.task,
        "metric": metric,
        "kept": row.method,
        "best": best,
        "interval": span(row.scores[metric]),
        "over_rows": None if row.over_rows is None else span(row.over_rows),
        "best_interval": span(first.scores[metric]),
        "expected": found.expected,
        "verdict": found.verdict,
        "disqualified": found.disqualified,
        "board": [
            (r.method, r.scores[metric].mean, r.standing) for r in found.leaderboard
        ],
    }
    return entries, seconds, facts


def predicted(found, test, job):
    """Numbers, or probabilities."""
    if job["task"] != "classification":
        return np.asarray(found.model.predict(test), dtype=float)
    p = found.model.predict_proba(test)
    return ordered(p, found.schema.classes, job["classes"])


def flaml(folder, job):
    from flaml import AutoML

    X, y, new = tables(folder, job)
    classes = job["task"] == "classification"
    begun = time.perf_counter()
    model = AutoML()
    model.fit(
        X_train=X,
        y_train=y,
        task="classification" if classes else "regression",
        metric="log_loss" if classes else "rmse",
        time_budget=job["budget"],
        n_jobs=job["threads"],
        seed=job["seed"],
        verbose=0,
    )
    if classes:
        p = ordered(model.predict_proba(new), model.classes_, job["classes"])
    else:
        p = np.asarray(model.predict(new), dtype=float)
    seconds = time.perf_counter() - begun
    return {"FLAML": p}, seconds, {"kept": str(model.best_estimator)}


def autogluon(folder, job):
    from autogluon.tabular import TabularPredictor

    X, y, new = tables(folder, job)
    classes = job["task"] == "classification"
    kind = ("binary" if len(job["classes"]) == 2 else "multiclass") if classes else None
    begun = time.perf_counter()
    model = TabularPredictor(
        job["target"],
        problem_type=kind or "regression",
        eval_metric="log_loss" if classes else "rmse",
        path=str(folder / "autogluon"),
        verbosity=0,
    )
    model.fit(
        X.assign(**{job["target"]: y}),
        time_limit=job["budget"],
        num_cpus=job["threads"],
        num_gpus=0,
        **job.get("autogluon", {}),
    )
    if classes:
        p = model.predict_proba(new)
        p = ordered(p.to_numpy(), p.columns, job["classes"])
    else:
        p = model.predict(new).to_numpy(dtype=float)
    return {"AutoGluon": p}, time.perf_counter() - begun, {"kept": model.model_best}


def lazypredict(folder, job):
    """Its first by a validation part of the rows given, then fitted to all of them.

    The tool itself ranks by the rows it is given as a test; those are taken from the
    training rows here, so that nothing has seen the rows that judge.
    """
    from lazypredict.Supervised import LazyClassifier, LazyRegressor
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    X, y, new = tables(folder, job)
    classes = job["task"] == "classification"
    if classes:
        y = codes(y, job["classes"])
    begun = time.perf_counter()
    cut = train_test_split(
        X, y, test_size=0.25, random_state=job["seed"], stratify=y if classes else None
    )
    tool = (LazyClassifier if classes else LazyRegressor)(
        verbose=0, ignore_warnings=True, random_state=job["seed"]
    )
    board, _ = tool.fit(*cut)
    best = next(name for name in board.index if name in tool.models)
    model = clone(tool.models[best]).fit(X, y)
    if not classes:
        p = np.asarray(model.predict(new), dtype=float)
    elif hasattr(model, "predict_proba"):
        p = by_code(model, new, len(job["classes"]))
    else:
        p = np.asarray(model.predict(new), dtype=int)
    return {"LazyPredict": p}, time.perf_counter() - begun, {"kept": str(best)}


def by_code(model, new, K):
    out = np.zeros((len(new), K))
    out[:, np.asarray(model.classes_, dtype=int)] = model.predict_proba(new)
    return out


CONTENDERS = {
    "pansophy": pansophy,
    "flaml": flaml,
    "autogluon": autogluon,
    "lazypredict": lazypredict,
}


def main(name, place):
    warnings.simplefilter("ignore")
    folder = Path(place)
    job = json.loads((folder / "job.json").read_text("utf-8"))
    entries, seconds, facts = CONTENDERS[name](folder, job)
    facts["seconds"] = seconds
    np.savez(folder / f"{name}.npz", **entries)
    (folder / f"{name}.json").write_text(json.dumps(facts, default=str), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:3])
