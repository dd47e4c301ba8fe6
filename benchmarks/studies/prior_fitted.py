"""Networks fitted to made-up tables against boosted trees, a forest and a linear model,
on the real tables of `prior_fitted_tables`.

    python -m benchmarks.studies.prior_fitted_tables FOLDER
    python -m benchmarks.studies.prior_fitted FOLDER/class RECORD.json [METHOD ...]
    python -m benchmarks.studies.prior_fitted --page RECORD.json PAGE.md

Judged is the log loss of the test rows of each cut, probabilities being at least 1e-6.
All have their defaults; the linear model gets scaled numbers and an indicator of each
level. The judgement half comes first, the first cut of all tables before the second.
What is in the record is not run again.

The page compares per table, by the mean over its cuts. The interval of the mean of
log(loss of ours / loss of a peer) takes each table as one observation.
"""

import argparse
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


def catboost(X, y, Z, cat, seed):
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        verbose=0,
        random_seed=seed,
        thread_count=1,
        allow_writing_files=False,
        cat_features=[f"c{j}" for j in np.flatnonzero(cat)],
    )
    return model.fit(as_frame(X, cat), y).predict_proba(as_frame(Z, cat))


def lightgbm(X, y, Z, cat, seed):
    import pandas as pd
    from lightgbm import LGBMClassifier

    d = as_frame(np.vstack([X, Z]), cat)
    for j in np.flatnonzero(cat):
        d[f"c{j}"] = pd.Categorical(d[f"c{j}"])
    model = LGBMClassifier(random_state=seed, n_jobs=1, verbosity=-1)
    return model.fit(d[: len(X)], y).predict_proba(d[len(X) :])


def logistic(X, y, Z, cat, seed):
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
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
    model = make_pipeline(prepare, LogisticRegression(max_iter=3000))
    return model.fit(as_frame(X, cat), y).predict_proba(as_frame(Z, cat))


def forest(X, y, Z, cat, seed):
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(500, random_state=seed, n_jobs=1)
    return model.fit(X, y).predict_proba(Z)


def ours(X, y, Z, cat, seed):
    from pansophy.neural_network import PriorFittedClassifier

    model = PriorFittedClassifier(random_state=seed)
    return model.fit(as_frame(X, cat), y).predict_proba(as_frame(Z, cat))


METHODS = {
    "catboost": catboost,
    "logistic": logistic,
    "forest": forest,
    "lightgbm": lightgbm,
    "ours": ours,
}


def log_loss(P, y):
    P = np.clip(P, LEAST, 1)
    P /= P.sum(axis=1, keepdims=True)
    return float(-np.log(P[np.arange(len(y)), y]).mean())


def run(folder, record, methods):
    """Adds what is missing to the record {method: {table: {cut: [loss, seconds]}}}."""
    path = Path(record)
    done = json.loads(path.read_text()) if path.exists() else {}
    tables = {p.stem: dict(np.load(p)) for p in sorted(Path(folder).glob("*.npz"))}
    order = [
        (not bool(t["judgement"]), cut, name)
        for name, t in tables.items()
        for cut in range(3)
    ]
    for _, cut, name in sorted(order):
        t = tables[name]
        train, test = t[f"tr{cut}"], t[f"te{cut}"]
        for method in methods:
            results = done.setdefault(method, {}).setdefault(name, {})
            if str(cut) in results:
                continue
            begin = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                P = METHODS[method](
                    t["X"][train], t["y"][train], t["X"][test], t["cat"], cut
                )
            seconds = time.perf_counter() - begin
            results[str(cut)] = [log_loss(P, t["y"][test]), round(seconds, 3)]
            half = "judgement" if t["judgement"] else "development"
            done.setdefault("half", {})[name] = half
            part = path.with_suffix(".part")
            part.write_text(json.dumps(done))
            os.replace(part, path)


def page(done, half):
    """Markdown rows of one half of the tables: ours against each peer."""
    names = [n for n, h in done["half"].items() if h == half and n in done["ours"]]

    def losses(method):
        return {
            n: np.mean([v[0] for v in done[method][n].values()])
            for n in names
            if n in done.get(method, {})
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
    parser.add_argument("paths", nargs="+")
    options = parser.parse_args()
    if options.page:
        done = json.loads(Path(options.paths[0]).read_text())
        lines = [
            "# Networks fitted to made-up tables on real ones",
            "",
            "Log loss; made by `python -m benchmarks.studies.prior_fitted`.",
            "",
        ]
        for half in "judgement", "development":
            lines += [*page(done, half), ""]
        Path(options.paths[1]).write_text("\n".join(lines))
    else:
        folder, record, *methods = options.paths
        run(folder, record, methods or list(METHODS))
