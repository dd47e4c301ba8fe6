"""Loops compiled for a shipped level of CPU against loops compiled for this machine.

Two processes that differ only in what their loops were compiled for take turns: one
uses the loops of the package (`make wheel` puts them there), the other has
`NUMBA_CPU_NAME` set to this machine's CPU, which turns shipped loops off.

    python -m benchmarks.studies.shipped_loops speed  steady speed, interleaved; ratios
    python -m benchmarks.studies.shipped_loops results   are all predictions equal?
    python -m benchmarks.studies.shipped_loops first  compilations of first calls

Each writes a table to standard output; exit status 1 if a limit is broken: a ratio
below 0.97, a compilation, a first call of over a second.

**Speed** is processor time of one thread, so that neither the scheduling of threads
nor other programs are measured. A case that is short is run several times for one
measurement. The two processes take turns in alternating order, and each is judged by
its least time. Where a process happens to have its arrays changes its times by some
percent, in all rounds alike: so several pairs of fresh processes are compared, and
what counts is the median of their ratios. The row "native again" compares native
processes with each other, on the first case: how far it is from 1 is noise.
"""

import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

PAIRS = 7  # of processes
ROUNDS = 9  # of each case in each pair
LEAST_SECONDS = 0.05  # of a measurement
SLOWEST = 0.97  # least speed at the shipped level, as a share of native speed
FIRST_CALL = 1.0  # seconds beyond the steady time


def speed_cases() -> dict:
    """Names and functions without arguments, all bound by computing."""
    from sklearn.datasets import make_classification, make_regression

    from pansophy.cluster import KMeans
    from pansophy.ensemble import (
        HistGradientBoostingClassifier,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from pansophy.linear_model import Lasso, LogisticRegression, SGDClassifier
    from pansophy.neighbors import KNeighborsClassifier
    from pansophy.state_space import GaussianHMM
    from pansophy.tree import DecisionTreeClassifier

    X, y = make_classification(20_000, 20, n_informative=10, random_state=0)
    Z, t = make_regression(5_000, 20, noise=1.0, random_state=0)
    steps = np.random.default_rng(0).standard_normal((20_000, 4))
    neighbors = KNeighborsClassifier(algorithm="kd_tree").fit(X[:, :4], y)
    seed = {"random_state": 0}
    return {
        "decision tree": lambda: DecisionTreeClassifier(**seed).fit(X, y),
        "forest": lambda: RandomForestClassifier(10, **seed).fit(X, y),
        "regression forest": lambda: RandomForestRegressor(10, **seed).fit(Z, t),
        "histogram boosting": lambda: HistGradientBoostingClassifier(
            max_iter=30, **seed
        ).fit(X, y),
        "k-means": lambda: KMeans(20, n_init=1, max_iter=30, **seed).fit(X),
        "logistic regression": lambda: LogisticRegression().fit(X, y),
        "lasso": lambda: Lasso(0.01).fit(Z, t),
        "SGD": lambda: SGDClassifier(max_iter=5, tol=None, **seed).fit(X, y),
        "neighbours in a tree": lambda: neighbors.predict(X[:5_000, :4]),
        "Gaussian HMM": lambda: GaussianHMM(4, n_iter=5, tol=0.0, **seed).fit(steps),
    }


def serve_speed():
    """Answer each name and number on standard input by the seconds of so many calls."""
    import warnings

    warnings.simplefilter("ignore")
    cases = speed_cases()
    for run in cases.values():
        run()
    print(json.dumps(list(cases)), flush=True)
    for line in sys.stdin:
        name, calls = json.loads(line)
        run = cases[name]
        began = time.process_time()
        for _ in range(calls):
            run()
        print(time.process_time() - began, flush=True)


def environments() -> dict:
    """Environment variables of the two kinds of process."""
    from llvmlite import binding

    return {
        "shipped": dict(os.environ),
        "native": os.environ | {"NUMBA_CPU_NAME": binding.get_host_cpu_name()},
    }


def start_process(mode, environment):
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.studies.shipped_loops", mode],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def seconds_of(process, name, calls) -> float:
    """Processor time that calls of a case take in another process."""
    process.stdin.write(json.dumps([name, calls]) + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def least_seconds(processes, name) -> list[float]:
    """The least time of a case in each of the processes, which take turns."""
    first = min(seconds_of(process, name, 1) for process in processes)
    calls = max(1, round(LEAST_SECONDS / first))
    least = [float("inf")] * len(processes)
    for turn in range(ROUNDS):
        order = range(len(processes))
        for k in order if turn % 2 else reversed(order):
            least[k] = min(least[k], seconds_of(processes[k], name, calls))
    return least


def ratios_of_pair() -> dict[str, float]:
    """Speed of shipped loops as a share of native speed, in one pair of processes."""
    kinds = environments()
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    processes = [
        start_process("serve", kinds[kind] | one_thread)
        for kind in ("shipped", "native", "native")
    ]
    names, *_ = [json.loads(process.stdout.readline()) for process in processes]
    found = {}
    for name in names:
        shipped, native = least_seconds(processes[:2], name)
        found[name] = native / shipped
    again, native = least_seconds(processes[1:], names[0])
    found["native again"] = native / again
    for process in processes:
        process.stdin.close()
        process.wait()
    return found


def compare_speed() -> bool:
    """Print the speed at the shipped level as a share of native speed."""
    pairs = [ratios_of_pair() for _ in range(PAIRS)]
    good = True
    for name in pairs[0]:
        ratios = sorted(found[name] for found in pairs)
        middle = statistics.median(ratios)
        good &= middle >= SLOWEST or name == "native again"
        print(f"{name:24s} {middle:6.3f} (from {ratios[0]:.3f} to {ratios[-1]:.3f})")
    return good


def fit_and_predict(cls):
    """Predictions of a model of the usual table, and compilations and seconds."""
    from pansophy.core.loops.loop_cache import WATCH
    from pansophy.testing import usual_fits

    fit = usual_fits(cls)[1]  # the table of several hundred rows
    before = WATCH.count
    began = time.perf_counter()
    model = fit.estimator.fit(fit.X, fit.y)
    answers = []
    for method in ("predict", "predict_proba", "transform", "score_samples"):
        if hasattr(model, method):
            answer = getattr(model, method)(fit.X)
            for part in answer if isinstance(answer, tuple) else (answer,):
                part = part.toarray() if hasattr(part, "toarray") else part
                answers.append(np.asarray(part, dtype=float).ravel())
    if not answers:
        answers.append(np.asarray(getattr(model, "labels_", []), dtype=float))
    return np.concatenate(answers), WATCH.count - before, time.perf_counter() - began


def serve_answers():
    """For each estimator, in a child of its own: answers, compilations, seconds."""
    import multiprocessing
    import tempfile
    import warnings

    from pansophy.testing import all_estimators

    warnings.simplefilter("ignore")
    fork = multiprocessing.get_context("fork")
    for name, cls in all_estimators():
        with tempfile.TemporaryDirectory() as folder:
            child = fork.Process(target=answer_once, args=(cls, f"{folder}/a.json"))
            child.start()
            child.join()
            try:
                with open(f"{folder}/a.json") as file:
                    found = json.load(file)
            except FileNotFoundError:
                found = {"failed": True}
        print(json.dumps({"name": name} | found), flush=True)


def answer_once(cls, path):
    answers, compiled, first = fit_and_predict(cls)
    steady = fit_and_predict(cls)[2]
    with open(path, "w") as file:
        json.dump(
            {
                "answers": answers.tolist(),
                "compiled": compiled,
                "first": first,
                "steady": steady,
            },
            file,
        )


def read_answers(environment) -> dict:
    process = start_process("answers", environment)
    lines = process.communicate()[0].splitlines()
    return {found.pop("name"): found for found in map(json.loads, lines)}


def compare_results() -> bool:
    """Print which estimators' predictions depend on the level, and by how much."""
    shipped, native = (read_answers(e) for e in environments().values())
    equal = 0
    for name in shipped:
        if "failed" in shipped[name] or "failed" in native[name]:
            print(f"{name:36s} failed in a child process")
            continue
        a, b = (np.array(found[name]["answers"]) for found in (shipped, native))
        if np.array_equal(a, b, equal_nan=True):
            equal += 1
            continue
        size = np.nanmax(np.abs(a - b)) / max(np.nanmax(np.abs(b)), 1e-300)
        print(f"{name:36s} differs by {size:.1e} of the largest answer")
    print(f"{equal} of {len(shipped)} estimators: the same bits")
    return True


def first_calls() -> bool:
    """Print estimators that compile, or whose first call takes long."""
    found = read_answers(environments()["shipped"])
    broken = 0
    for name, one in found.items():
        if "failed" in one:
            print(f"{name:36s} failed in a child process")
        elif one["compiled"] or one["first"] - one["steady"] > FIRST_CALL:
            broken += 1
            print(
                f"{name:36s} compiled {one['compiled']:3d}, first call "
                f"{one['first']:.2f} s, steady {one['steady']:.2f} s"
            )
    good = [f for f in found.values() if "failed" not in f]
    extra = [f["first"] - f["steady"] for f in good]
    print(
        f"{len(good)} estimators, {sum(f['compiled'] for f in good)} compilations; "
        f"first call beyond steady: median {statistics.median(extra):.3f} s, largest "
        f"{max(extra):.2f} s"
    )
    return not broken


MODES = {
    "speed": compare_speed,
    "results": compare_results,
    "first": first_calls,
    "serve": serve_speed,
    "answers": serve_answers,
}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in MODES:
        sys.exit(__doc__)
    sys.exit(0 if MODES[sys.argv[1]]() in (True, None) else 1)
