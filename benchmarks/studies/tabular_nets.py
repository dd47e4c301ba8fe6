# ruff: noqa: E501 (lines of the table it writes)
"""Nets for tables against the multi-layer perceptron: paired, on the rivals' tables.

    python -m benchmarks.studies.tabular_nets [--tables iris wine] [--nets MLP TabularResNet]
        [--splits 5] [--record FILE] [--out benchmarks/studies/tabular_nets.md]

Each table is split at random into rows to learn from (at most 1,500) and rows that judge
(at most 3,000), the same for all nets. All have the defaults of their classes. The
perceptron gets numbers that are centred, scaled and filled, categories as indicators,
and a centred and scaled target; the others take the table as it is.

Judged is d = log(loss / loss of the perceptron), the loss being log loss or root mean
squared error: below 0 is better, -0.05 is about 5 % less. The interval of a table is
that of the mean of d over its splits, widened for training rows that splits share; the
one over tables takes each table as one observation. A table counts as better or worse
when its interval leaves out 0. `--record` keeps what is done, one JSON line per fit,
and goes on from there.

Tables marked "choice" are those on which defaults were chosen; the others have only
judged.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from .rival_tables import TABLES

NAMES = [name for name in TABLES if name != "synthetic 200k"]
CHOICE = NAMES[::2]  # every other table: defaults may be chosen on these
TRAIN, TEST = 1500, 3000
LEVELS = 64  # a column of more texts is dropped
REFERENCE = "MLP"


def prepared_table(name):
    """Numbers and categories as a data frame, and the target."""
    import pandas as pd

    spec = TABLES[name]
    frame = spec.make().to_pandas()
    y = frame.pop(spec.target).to_numpy()
    columns = {}
    for key in frame.columns:
        column = frame[key]
        if pd.api.types.is_datetime64_any_dtype(column):
            column = column.astype("datetime64[s]").astype("int64") / 86400.0
        if pd.api.types.is_numeric_dtype(column):
            columns[key] = column.astype(float)
        elif 1 < column.nunique() <= LEVELS:
            columns[key] = column.astype(object).where(column.notna(), None)
    if spec.task == "classification":
        y = np.unique(y.astype(str), return_inverse=True)[1]
    else:
        y = y.astype(float)
    return pd.DataFrame(columns), y, spec.task == "classification"


def split_rows(y, classes, share, seed):
    """Positions of rows to learn from and rows that judge."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(y))
    stratify = y if classes else None
    a, b = train_test_split(rows, test_size=share, random_state=seed, stratify=stratify)
    return a[:TRAIN], b[:TEST]


def perceptron(classes, seed):
    """The MLP in a pipeline that scales, fills and makes indicators."""
    from sklearn.compose import (
        ColumnTransformer,
        TransformedTargetRegressor,
        make_column_selector,
    )
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from pansophy.neural_network import MLPClassifier, MLPRegressor

    prepare = ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
                make_column_selector(dtype_include="number"),
            ),
            (
                "categories",
                OneHotEncoder(handle_unknown="ignore", sparse_output=False),
                make_column_selector(dtype_exclude="number"),
            ),
        ]
    )
    if classes:
        return make_pipeline(prepare, MLPClassifier(random_state=seed, device="cpu"))
    net = TransformedTargetRegressor(
        MLPRegressor(random_state=seed, device="cpu"), transformer=StandardScaler()
    )
    return make_pipeline(prepare, net)


def table_net(name, **options):
    """A maker of one of the nets for tables."""

    def make(classes, seed):
        from pansophy import neural_network

        kind = "Classifier" if classes else "Regressor"
        cls = getattr(neural_network, name + kind)
        return cls(**options, random_state=seed, device="cpu")

    return make


# what the defaults were before the members
BEFORE = {
    "n_members": 1,
    "hidden_size": 128,
    "n_epochs": 100,
    "learning_rate_init": 0.001,
    "early_stopping": False,
}
NETS = {
    REFERENCE: perceptron,
    "TabularResNet": table_net("TabularResNet"),
    "one member": table_net("TabularResNet", n_members=1),
    "TabularResNet, before": table_net("TabularResNet", **BEFORE),
    "FTTransformer": table_net("FTTransformer"),
}


def fit_and_score(make, X, y, classes, train, test, seed):
    """Log loss or root mean squared error on the test rows; processor seconds."""
    from sklearn.metrics import log_loss, root_mean_squared_error

    begun = time.process_time()
    model = make(classes, seed).fit(X.iloc[train], y[train])
    seconds = time.process_time() - begun
    if classes:
        p = np.clip(model.predict_proba(X.iloc[test]), 1e-7, 1)
        p /= p.sum(axis=1, keepdims=True)
        return log_loss(y[test], p, labels=model.classes_), seconds
    return root_mean_squared_error(y[test], model.predict(X.iloc[test])), seconds


def run_fits(tables, nets, splits, record, makers=NETS):
    """One entry per table, split and net; those in the record are not run again."""
    done = []
    if record is not None and Path(record).exists():
        done = [json.loads(s) for s in Path(record).read_text("utf-8").splitlines()]
    known = {(e["table"], e["split"], e["net"]) for e in done}
    for name in tables:
        X, y, classes = prepared_table(name)
        for split in range(splits):
            train, test = split_rows(y, classes, TABLES[name].share, split)
            for net in nets:
                if (name, split, net) in known:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    loss, seconds = fit_and_score(
                        makers[net], X, y, classes, train, test, split
                    )
                entry = {
                    "table": name,
                    "split": split,
                    "net": net,
                    "rows": len(train),
                    "test": len(test),
                    "columns": X.shape[1],
                    "classes": classes,
                    "loss": float(loss),
                    "seconds": seconds,
                }
                done.append(entry)
                print(name, split, net, f"{loss:.4g} {seconds:.1f} s", flush=True)
                if record is not None:
                    with open(record, "a", encoding="utf-8") as file:
                        file.write(json.dumps(entry) + "\n")
    return [e for e in done if e["table"] in tables and e["net"] in nets]


def table_differences(entries, net):
    """Per table: d of every split, and the corrected interval of its mean."""
    from pansophy.compare import corrected_interval

    loss = {(e["table"], e["split"], e["net"]): e["loss"] for e in entries}
    found = {}
    for name in NAMES:
        rows = [e for e in entries if e["table"] == name and e["net"] == net]
        d = [
            np.log(e["loss"] / loss[name, e["split"], REFERENCE])
            for e in rows
            if (name, e["split"], REFERENCE) in loss
        ]
        if len(d) > 1:
            ratio = rows[0]["test"] / rows[0]["rows"]
            found[name] = corrected_interval(d, min(ratio, 0.5))
    return found


def summary(entries, nets, tables) -> list[str]:
    """Lines over a set of tables: mean of d, counts, time against the perceptron."""
    from pansophy.compare import corrected_interval

    seconds = {(e["table"], e["split"], e["net"]): e["seconds"] for e in entries}
    lines = [
        "| net | mean of d over tables | better beyond noise | lower | higher | worse beyond noise | time |",
        "|---|---|---|---|---|---|---|",
    ]
    for net in nets:
        found = {
            k: v for k, v in table_differences(entries, net).items() if k in tables
        }
        if not found:
            continue
        means = [i.mean for i in found.values()]
        over = corrected_interval(means, 0.0)
        better = sum(i.high < 0 for i in found.values())
        worse = sum(i.low > 0 for i in found.values())
        time_ratios = [
            s / seconds[name, split, REFERENCE]
            for (name, split, other), s in seconds.items()
            if other == net and name in found and (name, split, REFERENCE) in seconds
        ]
        lines.append(
            f"| {net} | {over.mean:+.3f} ({over.low:+.3f} to {over.high:+.3f}) | {better} "
            f"| {sum(m < 0 for m in means)} | {sum(m > 0 for m in means)} | {worse} "
            f"| {np.median(time_ratios):.1f} x |"
        )
    return lines


def report(entries, nets) -> str:
    others = [net for net in nets if net != REFERENCE]
    tables = [name for name in NAMES if any(e["table"] == name for e in entries)]
    found = {net: table_differences(entries, net) for net in others}
    lines = [
        "| table | learnt from | loss of the MLP | " + " | ".join(others) + " |",
        "|---|---|---|" + "---|" * len(others),
    ]
    for name in tables:
        rows = [e for e in entries if e["table"] == name and e["net"] == REFERENCE]
        if not rows:
            continue
        mark = " (choice)" if name in CHOICE else ""
        cells = [
            f"{name}{mark}",
            f"{rows[0]['rows']} x {rows[0]['columns']}",
            f"{np.mean([e['loss'] for e in rows]):.4g}",
        ]
        for net in others:
            i = found[net].get(name)
            told = "" if i is None else f"{i.mean:+.3f} ({i.low:+.3f} to {i.high:+.3f})"
            bold = i is not None and (i.high < 0 or i.low > 0)
            cells.append(f"**{told}**" if bold else told)
        lines.append("| " + " | ".join(cells) + " |")
    judged = [name for name in tables if name not in CHOICE]
    for title, part in (
        ("Tables that only judge", judged),
        ("Tables of the choice", [name for name in tables if name in CHOICE]),
        ("All tables", tables),
    ):
        lines += ["", f"**{title}** ({len(part)})", "", *summary(entries, others, part)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="*", default=NAMES, choices=NAMES)
    parser.add_argument("--nets", nargs="*", default=list(NETS), choices=list(NETS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--record")
    parser.add_argument("--out")
    args = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    entries = run_fits(args.tables, args.nets, args.splits, args.record)
    text = report(entries, args.nets)
    print(text)
    if args.out:
        path = Path(args.out)
        old = path.read_text("utf-8") if path.exists() else ""
        head = old.split("<!-- results -->")[0].rstrip()
        path.write_text(f"{head}\n\n<!-- results -->\n\n{text}", "utf-8")


if __name__ == "__main__":
    main()
