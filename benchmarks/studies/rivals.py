"""Our winner against other tools on rows that nobody has seen, in equal time.

    python -m benchmarks.studies.rivals --python flaml=PYTHON --python autogluon=PYTHON
        [--python lazypredict=PYTHON] [--tables iris wine] [--seeds 3] [--repeats 2]
        [--threads 2] [--record FILE] [--out benchmarks/studies/rivals.md]

A table is cut at random in two: rows to learn from and rows that judge. Every contender
gets the first part as Parquet and answers the second in a process of its own, under
the Python given for it, with the same number of threads; FLAML and AutoGluon get as
budget the time that ours took on the same rows just before, LazyPredict knows none.
Answers are scored here, by one function, and held against ours by a paired bootstrap
over the test rows, adjusted for the number of contenders. Counted as well: how often
our interval for the kept method holds its score on the rows that judge. `--record`
keeps what is done, one JSON line per cut, and goes on from there.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from .rival_tables import TABLES

RUNS = Path(__file__).with_name("rival_runs.py")
RIVALS = ("flaml", "autogluon", "lazypredict")
METRIC = {
    "classification": "log loss",
    "regression": "rmse",
    "count": "poisson deviance",
}
LEAST = 5.0  # seconds of budget below which the others do not even begin
PATIENCE = 4  # times our time, after which one that knows no budget is stopped
OURS, BEST = "pansophy", "pansophy, best score"


def cut(table, spec, seed):
    """Rows to learn from and rows that judge, with their answers."""
    from sklearn.model_selection import train_test_split

    y = np.asarray(table.column(spec.target).to_pylist())
    stratify = y if spec.task == "classification" else None
    a, b = train_test_split(
        np.arange(len(y)), test_size=spec.share, random_state=seed, stratify=stratify
    )
    classes = sorted(map(str, np.unique(y))) if stratify is not None else []
    truth = y[b].astype(float) if not classes else [classes.index(str(v)) for v in y[b]]
    new = table.drop_columns([spec.target]).take(b)
    return table.take(a), new, np.asarray(truth), classes


def one_cut(name, seed, pythons, args):
    """Every contender on one cut of one table, as a plain dict; None if ours failed."""
    import pyarrow.parquet as pq

    spec = TABLES[name]
    train, new, truth, classes = cut(spec.make(), spec, seed)
    job = {
        "target": spec.target,
        "task": spec.task,
        "classes": classes,
        "seed": seed,
        "threads": args.threads,
        "repeats": args.repeats,
    }
    answers, facts = {}, {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pq.write_table(train, folder / "train.parquet")
        pq.write_table(new, folder / "test.parquet")
        for contender, python in pythons.items():
            told = start(contender, python, folder, job, args)
            facts[contender] = told
            if "failed" in told:
                print(f"  {contender}: {told['failed']}", file=sys.stderr)
                if contender == OURS:
                    return None
                continue
            if contender == OURS:
                job["budget"] = max(LEAST, told["seconds"])
            with np.load(folder / f"{contender}.npz") as held:
                answers |= {key: held[key] for key in held.files}
    return {
        "table": name,
        "seed": seed,
        "rows": train.num_rows,
        "task": spec.task,
        "columns": new.num_columns,
        "test": len(truth),
        "facts": facts,
        **judge(truth, answers, spec.task),
    }


def start(contender, python, folder, job, args):
    """Run it; what it says of itself, or why there is nothing."""
    (folder / "job.json").write_text(json.dumps(job), "utf-8")
    names = ("OMP", "OPENBLAS", "MKL", "NUMBA", "LOKY")
    threads = {f"{n}_NUM_THREADS": str(job["threads"]) for n in names}
    limit = min(args.limit, PATIENCE * job.get("budget", np.inf) + 60)
    threads["LOKY_MAX_CPU_COUNT"] = str(job["threads"])
    try:
        done = subprocess.run(
            [python, str(RUNS), contender, str(folder)],
            cwd=folder,
            env={**os.environ, **threads},
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return {"failed": "stopped for taking too long"}
    if done.returncode:
        return {"failed": " / ".join(done.stderr.strip().splitlines()[-3:])}
    return json.loads((folder / f"{contender}.json").read_text("utf-8"))


def judge(truth, answers, task):
    """Scores by contender, and ours against each by a paired bootstrap."""
    from pansophy.compare import METRICS, compare_on_test_set

    first = METRIC[task]
    kinds = {m.name: m for m in METRICS if m.task == task}
    scores, hits = {}, {}
    comparable = {}
    for name, p in answers.items():
        if task == "classification" and p.ndim == 1:  # labels only
            hits[name] = float(np.mean(p == truth))
            continue
        if task == "count":
            p = np.maximum(p, 0.05)  # those who know no counts answer below 0
        comparable[name] = p
        scores[name] = kinds[first].score(truth, p)
        if task == "classification":
            hits[name] = kinds["accuracy"].score(truth, p)
    rivals = {k: p for k, p in comparable.items() if k != BEST}
    found = compare_on_test_set(truth, rivals, first, reference=OURS)
    seen = {r.method: r for r in found.rows}
    ours = seen[OURS].score
    out = {
        "metric": first,
        "scores": scores,
        "accuracy": hits,
        "test_interval": [ours.mean, ours.low, ours.high],
        "verdicts": {
            k: [r.verdict, r.difference.p]
            for k, r in seen.items()
            if r.difference is not None
        },
    }
    if task == "count":
        found = compare_on_test_set(truth, rivals, "rmse", reference=OURS)
        out["rmse"] = {r.method: r.score.mean for r in found.rows}
        out["rmse_verdicts"] = {r.method: r.verdict for r in found.rows}
    return out


def done_before(path):
    if path is None or not Path(path).exists():
        return []
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def holds(cut) -> dict:
    """Whether our interval holds the held-out score, alone and with the test's noise.

    A score on few test rows is itself uncertain: the two half-widths add as squares.
    """
    f = cut["facts"][OURS]
    mean, low, high = f["interval"]
    score, at, to = cut["test_interval"]
    room = np.hypot(
        high - mean if score > mean else mean - low,
        score - at if score > mean else to - score,
    )
    return {
        "alone": low <= score <= high,
        "noise": abs(score - mean) <= room,
        "told": mean,
        "found": score,
    }


def mean(values):
    return float(np.mean(values)) if len(values) else float("nan")


def row_of(name, cuts, rivals):
    """One line of the table: means over cuts."""
    cells = [
        name,
        f"{cuts[0]['rows']} x {cuts[0]['columns']}",
        str(len(cuts)),
        cuts[0]["metric"],
    ]
    for who in (OURS, BEST, *rivals):
        found = [c["scores"][who] for c in cuts if who in c["scores"]]
        text = f"{mean(found):.4g}" if found else "-"
        if found and len(found) < len(cuts):
            text += f" ({len(found)} of {len(cuts)})"
        said = [c["verdicts"][who][0] for c in cuts if who in c["verdicts"]]
        for verdict, mark in (("better", "+"), ("worse", "\u2212")):
            if verdict in said:
                text += f" {mark}{said.count(verdict)}"
        cells.append(text)
    kept = sorted({c["facts"][OURS]["kept"] for c in cuts})
    inside = [holds(c) for c in cuts]
    cells += [
        ", ".join(kept),
        f"{sum(h['alone'] for h in inside)}, {sum(h['noise'] for h in inside)}",
    ]
    return "| " + " | ".join(cells) + " |"


def written(cuts) -> str:
    """The table, and the counts below it."""
    rivals = [
        n
        for n in ("FLAML", "AutoGluon", "LazyPredict")
        if any(n in c["scores"] or n in c["accuracy"] for c in cuts)
    ]
    heads = [
        "table",
        "learnt from",
        "cuts",
        "score",
        "pansophy",
        "its best score",
        *rivals,
        "kept",
        "interval holds",
    ]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    names = dict.fromkeys(c["table"] for c in cuts)
    for name in names:
        lines.append(row_of(name, [c for c in cuts if c["table"] == name], rivals))
    lines += ["", *counts(cuts, rivals)]
    return "\n".join(lines) + "\n"


def counts(cuts, rivals):
    """Sentences with totals."""
    out = []
    for who in rivals:
        said = [c["verdicts"][who][0] for c in cuts if who in c["verdicts"]]
        tally = ", ".join(f"{said.count(v)} {v}" for v in ("better", "tied", "worse"))
        told = [(c["facts"].get(who.lower(), {}), c["facts"][OURS]) for c in cuts]
        used = [a["seconds"] / b["seconds"] for a, b in told if "seconds" in a]
        lost = [a for a, _ in told if "failed" in a]
        line = f"- {who} against ours, over {len(said)} cuts: {tally}"
        line += (
            f"; it took {np.median(used):.2g} times our time (median)" if used else ""
        )
        line += f"; it failed on {len(lost)}" if lost else ""
        pairs = [
            (c["accuracy"][who], c["accuracy"][OURS])
            for c in cuts
            if who in c["accuracy"]
        ]
        if pairs:
            theirs, ours = np.mean(pairs, 0)
            line += f"; mean accuracy {theirs:.3f}, ours {ours:.3f}"
        out.append(line + ".")
    inside = [holds(c) for c in cuts]
    out.append(
        f"- Our 95 % interval for the kept method holds its held-out score in "
        f"{sum(h['alone'] for h in inside)} of {len(cuts)} cuts, and in "
        f"{sum(h['noise'] for h in inside)} where the noise of the test rows is "
        "allowed for."
    )
    known = [c for c in cuts if c["facts"][OURS]["expected"]]
    shift = lambda told: mean(
        [c["scores"][BEST] / told(c["facts"][OURS]) - 1 for c in known]
    )
    out.append(
        "- Held-out score of the method that scored best, against what was promised: "
        f"{shift(lambda f: f['best_interval'][0]):+.1%} of its raw score, "
        f"{shift(lambda f: f['expected']):+.1%} of its score less the luck of being "
        "picked (means over cuts)."
    )
    return out


def main():
    about = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    about.add_argument("--python", action="append", default=[], metavar="TOOL=PYTHON")
    about.add_argument("--tables", nargs="*", default=list(TABLES)[:-1])
    about.add_argument("--seeds", type=int, default=2)
    about.add_argument("--repeats", type=int, default=2)
    about.add_argument("--threads", type=int, default=2)
    about.add_argument("--limit", type=float, default=900, help="seconds of one run")
    about.add_argument("--stop", type=float, default=np.inf, help="seconds in all")
    about.add_argument("--record", help="file of what is done, to go on from")
    about.add_argument("--out", help="file whose table is renewed; printed otherwise")
    args = about.parse_args()
    given = dict(pair.split("=", 1) for pair in args.python)
    for tool in [r for r in RIVALS if r not in given]:
        print(f"{tool} is left out: no --python {tool}=... was given.", file=sys.stderr)
    pythons = {OURS: given.pop(OURS, sys.executable), **given}
    begun, cuts = time.perf_counter(), done_before(args.record)
    known = {(c["table"], c["seed"]) for c in cuts}
    for seed in range(args.seeds):
        for name in args.tables:
            if (name, seed) in known or time.perf_counter() - begun > args.stop:
                continue
            print(f"{name}, cut {seed}", file=sys.stderr, flush=True)
            found = one_cut(name, seed, pythons, args)
            if found is None:
                continue
            cuts.append(found)
            if args.record:
                with open(args.record, "a", encoding="utf-8") as record:
                    record.write(json.dumps(cuts[-1]) + "\n")
    renew(args.out, written(cuts))


def renew(path, text):
    """Replace what stands below the line `<!-- results -->`, or print it."""
    if path is None:
        print(text)
        return
    head = Path(path).read_text("utf-8").split("<!-- results -->")[0]
    Path(path).write_text(f"{head}<!-- results -->\n\n{text}", "utf-8")


if __name__ == "__main__":
    main()
