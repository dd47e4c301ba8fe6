"""`python -m benchmarks [--quick] [pattern ...]`: all cases, or those that match.

Results of earlier runs are kept for the cases not run this time. --quick asks the
peers at the largest size only.
"""

import importlib
import json
import os
import pkgutil
import re
import sys
from pathlib import Path

from . import runner

HERE = Path(__file__).parent


def limit_threads():
    """The same thread limit for every library, set before any of them loads."""
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(runner.THREADS)


def main(words):
    limit_threads()
    quick, words = "--quick" in words, [w for w in words if w != "--quick"]
    old = HERE / "results.json"
    kept = json.loads(old.read_text())["results"] if old.exists() else []
    results = {r["case"]: r for r in kept}
    names = []
    for info in sorted(pkgutil.iter_modules([str(HERE)]), key=lambda i: i.name):
        if not info.name.startswith("bench_"):
            continue
        module = f"{__package__}.{info.name}"
        for case in importlib.import_module(module).CASES:
            names.append(case.name)
            if words and not any(re.search(w, case.name) for w in words):
                continue
            results[case.name] = runner.run(module, case, quick)
            ordered = [results[n] for n in names if n in results]
            rest = [r for n, r in results.items() if n not in names]
            runner.write(ordered + rest, HERE)
    runner.write([results[n] for n in names if n in results], HERE)


if __name__ == "__main__":
    main(sys.argv[1:])
