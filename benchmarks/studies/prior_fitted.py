"""Networks fitted to made-up tables against boosted trees, a forest and a linear model,
on the real tables of `prior_fitted_tables`.

    python -m benchmarks.studies.prior_fitted_tables FOLDER
    python -m benchmarks.studies.prior_fitted FOLDER/class RECORD.json --half judgement
    python -m benchmarks.studies.prior_fitted --page RECORD.json ... PAGE.md

Classes are judged by the log loss of the test rows of each cut, probabilities being at
least 1e-6; numbers by the root of the mean squared error, over the deviation of the
targets of the test rows. All methods have their defaults; the linear model gets scaled
numbers and an indicator of each level. Tables are taken in the order of a hash of their
names, so that a run that ends early has seen a random part of them; what is in the
record is not run again.

The page compares per table, by the mean over its cuts. The interval of the mean of
log(loss of ours / loss of a peer) takes each table as one observation.
"""

import argparse
import hashlib
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np

LEAST = 1e-6


def as_frame(X, cat):
    """Columns of numbers and of texts; a missing text is a level."""
    import pandas as pd

    d = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    for j in np.flatnonzero(cat):
        codes = [("?" if np.isnan(v) else str(int(v))) for v in X[:, j]]
        d[f"c{j}"] = pd.Series(codes, dtype=object)
    return d


def answers(model, Z):
    """Probabilities, or numbers."""
    classes = hasattr(model, "predict_proba")
    return model.predict_proba(Z) if classes else model.predict(Z)


def catboost(X, y, Z, cat, seed, classes):
    from catboost import CatBoostClassifier, CatBoostRegressor

    made = CatBoostClassifier if classes else CatBoostRegressor
    model = made(
        verbose=0,
        random_seed=seed,
        thread_count=1,
        allow_writing_files=False,
        cat_features=[f"c{j}" for j in np.flatnonzero(cat)],
    )
    return answers(model.fit(as_frame(X, cat), y), as_frame(Z, cat))


def lightgbm(X, y, Z, cat, seed, classes):
    import pandas as pd
    from lightgbm import LGBMClassifier, LGBMRegressor

    d = as_frame(np.vstack([X, Z]), cat)
    for j in np.flatnonzero(cat):
        d[f"c{j}"] = pd.Categorical(d[f"c{j}"])
    made = LGBMClassifier if classes else LGBMRegressor
    model = made(random_state=seed, n_jobs=1, verbosity=-1)
    return answers(model.fit(d[: len(X)], y), d[len(X) :])


def linear(X, y, Z, cat, seed, classes):
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    texts = [f"c{j}" for j in np.flatnonzero(cat)]
    numbers = [f"c{j}" for j in np.flatnonzero(~cat)]
    scaled = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True), StandardScaler()
    )
    prepare = make_column_transformer(
        (scaled, numbers), (OneHotEncoder(handle_unknown="ignore"), texts)
    )
    last = LogisticRegression(max_iter=3000) if classes else RidgeCV(np.logspace(-3, 4))
    model = make_pipeline(prepare, last)
    return answers(model.fit(as_frame(X, cat), y), as_frame(Z, cat))


def forest(X, y, Z, cat, seed, classes):
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    made = RandomForestClassifier if classes else RandomForestRegressor
    model = made(500, random_state=seed, n_jobs=1)
    return answers(model.fit(X, y), Z)


def ours(X, y, Z, cat, seed, classes):
    from pansophy.neural_network import (
        PretrainedTableClassifier,
        PretrainedTableRegressor,
    )

    made = PretrainedTableClassifier if classes else PretrainedTableRegressor
    model = made(random_state=seed, n_jobs=1)
    return answers(model.fit(as_frame(X, cat), y), as_frame(Z, cat))


METHODS = {
    "catboost": catboost,
    "linear": linear,
    "forest": forest,
    "lightgbm": lightgbm,
    "ours": ours,
}


def log_loss(P, y):
    P = np.clip(P, LEAST, 1)
    P /= P.sum(axis=1, keepdims=True)
    return float(-np.log(P[np.arange(len(y)), y]).mean())


def relative_error(predicted, y):
    return float(np.sqrt(np.mean((predicted - y) ** 2)) / np.std(y))


def run(folder, record, methods, half, cuts, most_seconds=float("inf"), every=1):
    """Adds what is missing to the record {method: {table: {cut: [loss, seconds]}}}."""
    begun = time.monotonic()
    path = Path(record)
    done = json.loads(path.read_text()) if path.exists() else {}
    tables = {p.stem: dict(np.load(p)) for p in sorted(Path(folder).glob("*.npz"))}
    names = [
        n for n, t in tables.items() if bool(t["judgement"]) == (half == "judgement")
    ]
    names = sorted(names, key=lambda n: hashlib.sha256(n.encode()).hexdigest())[::every]
    for cut in range(cuts):
        for name in names:
            t = tables[name]
            train, test = t[f"tr{cut}"], t[f"te{cut}"]
            classes = t["y"].dtype.kind == "i"
            for method in methods:
                results = done.setdefault(method, {}).setdefault(name, {})
                if str(cut) in results:
                    continue
                if time.monotonic() - begun > most_seconds:
                    return
                begin = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    answer = METHODS[method](
                        t["X"][train],
                        t["y"][train],
                        t["X"][test],
                        t["cat"],
                        cut,
                        classes,
                    )
                seconds = time.process_time() - begin
                judge = log_loss if classes else relative_error
                results[str(cut)] = [judge(answer, t["y"][test]), round(seconds, 3)]
                done.setdefault("half", {})[name] = half
                part = path.with_suffix(".part")
                part.write_text(json.dumps(done))
                os.replace(part, path)


def page(done, half):
    """Markdown rows of one half of the tables: ours against each peer."""
    names = [n for n, h in done["half"].items() if h == half]

    def losses(method):
        return {
            n: np.mean([v[0] for v in done[method][n].values()])
            for n in names
            if done.get(method, {}).get(n)
        }

    mine = losses("ours")
    lines = [
        f"## {half.capitalize()} tables",
        "",
        "| peer | tables | ours better | mean loss, ours | mean loss, peer "
        "| mean log ratio (95 %) | worst ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in METHODS:
        theirs = losses(method)
        both = [n for n in mine if n in theirs]
        if method == "ours" or not both:
            continue
        a = np.array([mine[n] for n in both])
        b = np.array([theirs[n] for n in both])
        ratio = np.log(a / b)
        width = 1.96 * ratio.std(ddof=1) / np.sqrt(len(ratio))
        worst = np.argmax(ratio)
        lines.append(
            f"| {method} | {len(both)} | {np.mean(a < b):.0%} | {a.mean():.4f} "
            f"| {b.mean():.4f} | {ratio.mean():+.3f} ± {width:.3f} "
            f"| {np.exp(ratio[worst]):.2f} ({both[worst]}) |"
        )
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--half", default="judgement")
    parser.add_argument("--cuts", type=int, default=3)
    parser.add_argument("--every", type=int, default=1, help="only each k-th table")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("paths", nargs="+")
    options = parser.parse_args()
    if options.page:
        *records, target = options.paths
        lines = ["# Pretrained networks for tables on real ones", ""]
        for record in records:
            done = json.loads(Path(record).read_text())
            lines += [f"# {Path(record).stem}", ""]
            for half in sorted({*done["half"].values()}):
                lines += [*page(done, half), ""]
        Path(target).write_text("\n".join(lines))
    else:
        folder, record = options.paths
        run(
            folder,
            record,
            options.methods,
            options.half,
            options.cuts,
            options.seconds,
            options.every,
        )
