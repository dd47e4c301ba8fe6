"""Fits one of each estimator and prints a table by package. Run by `tools/bounds.py`.

    python tools/bounds_fits.py [package ...]

The exit status is 1 if a fit or a prediction fails.
"""

import sys
import time
import traceback
import warnings
from collections import defaultdict

from pansophy.testing import all_estimators, quick_instance, usual_table
from pansophy.testing.usual_calls import METHODS


def fit_and_ask(cls):
    """Fit an estimator, then call the first prediction method it has."""
    estimator = quick_instance(cls)
    X, y = usual_table(estimator)
    model = estimator.fit(X, y)
    for method in METHODS:
        if hasattr(model, method) and method != "inverse_transform":
            getattr(model, method)(X)
            return


def last_line(error):
    return traceback.format_exception_only(error)[-1].strip().splitlines()[0][:200]


def main():
    warnings.simplefilter("ignore")
    wanted = set(sys.argv[1:])
    counts = defaultdict(lambda: [0, 0, 0.0])
    failures = []
    for name, cls in all_estimators():
        package = cls.__module__.split(".")[1]
        if wanted and package not in wanted:
            continue
        began = time.process_time()
        row = counts[package]
        row[0] += 1
        try:
            fit_and_ask(cls)
        except Exception as error:
            row[1] += 1
            failures.append(f"{package}.{name}: {last_line(error)}")
        row[2] += time.process_time() - began
    for package, (n_fits, n_failed, seconds) in sorted(counts.items()):
        verdict = f"{n_failed} failed" if n_failed else "ok"
        print(f"{package:24s} {n_fits:4d} fits  {verdict:10s} {seconds:7.1f} s")
    print(*failures, sep="\n")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
