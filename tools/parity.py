"""Runs the tests of scikit-learn and hmmlearn on our classes. `make parity`.

Before the test modules are imported, every public class that has the same module and
name here takes the place of the peer's. A test counts if it built at least one object
of ours. Tests that fail are explained in `tests/parity/differences.csv`:

    private   the test reads private state or calls private code of the peer
    random    the test expects the numbers of the peer's own random stream
    text      only the wording of a message differs
    decided   we decided otherwise; the explanation says why
    open      not traced, or not mended yet

Tests of the first two kinds are not counted, for they say nothing about the contract;
the others are. The share of each package must be at least 95 %, and every failure must
be listed.

    python tools/parity.py                      all packages
    python tools/parity.py tree ensemble        some
    python tools/parity.py tree -- -k oob -x    arguments of pytest after two dashes
"""

import csv
import fnmatch
import functools
import importlib
import importlib.util
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIFFERENCES = ROOT / "tests" / "parity" / "differences.csv"
LIMIT = 0.95
NOT_COUNTED = ("private", "random")
REASONS = ("private", "random", "text", "decided", "open")

# package of ours -> modules of tests
PACKAGES = {
    "linear_model": ["sklearn.linear_model"],
    "svm": ["sklearn.svm"],
    "gaussian_process": ["sklearn.gaussian_process"],
    "naive_bayes": ["sklearn.tests.test_naive_bayes"],
    "discriminant_analysis": ["sklearn.tests.test_discriminant_analysis"],
    "tree": ["sklearn.tree"],
    "ensemble": ["sklearn.ensemble"],
    "neighbors": ["sklearn.neighbors"],
    "cluster": ["sklearn.cluster"],
    "mixture": ["sklearn.mixture"],
    "decomposition": ["sklearn.decomposition"],
    "manifold": ["sklearn.manifold"],
    "covariance": ["sklearn.covariance"],
    "semi_supervised": ["sklearn.semi_supervised"],
    "feature_selection": ["sklearn.feature_selection"],
    "neural_network": ["sklearn.neural_network"],
    "text": ["sklearn.feature_extraction.tests.test_text"],
    "state_space": [
        f"hmmlearn.tests.test_{name}"
        for name in (
            "base",
            "categorical_hmm",
            "gaussian_hmm",
            "gmm_hmm",
            "gmm_hmm_multisequence",
            "gmm_hmm_new",
            "multinomial_hmm",
            "poisson_hmm",
        )
    ],
}
PEERS = {  # others: sklearn.<package>
    "state_space": "hmmlearn.hmm",
    "text": "sklearn.feature_extraction.text",
}
PRIVATE_MODULES = ("_label_propagation",)  # whose classes tests import from there

USED: set[str] = set()  # classes of ours that the running test has built


# -- the plug-in, inside the pytest process ------------------------------------------


def pytest_configure(config):
    """Replace the peer's classes by ours."""
    import_all("sklearn")
    for package in PACKAGES:
        replace_classes(package)


def import_all(name):
    """Import all modules of a package, so that they hold the peer's own classes."""
    from sklearn.experimental import (  # noqa: F401
        enable_halving_search_cv,
        enable_iterative_imputer,
    )

    skipped = ("tests", "externals", "experimental", "conftest", "_arff_parser")
    for module in pkgutil.walk_packages(
        importlib.import_module(name).__path__, name + "."
    ):
        parts = module.name.split(".")
        if any(part in skipped or "test" in part for part in parts):
            continue
        try:
            importlib.import_module(module.name)
        except ImportError:
            continue  # it needs something that is not installed


def replace_classes(package):
    """Put our classes of one package in the place of the peer's."""
    try:
        peer = importlib.import_module(PEERS.get(package, f"sklearn.{package}"))
        ours = importlib.import_module(f"pansophy.{package}")
    except ImportError:
        return
    for name, cls in vars(peer).copy().items():
        replacement = getattr(ours, name, None)
        public = not name.startswith("_") and inspect.isclass(cls)
        if public and hasattr(cls, "fit") and inspect.isclass(replacement):
            note_use(replacement, f"{package}.{name}")
            setattr(peer, name, replacement)
            if cls.__module__.rpartition(".")[2] in PRIVATE_MODULES:
                setattr(sys.modules[cls.__module__], name, replacement)


def note_use(cls, name):
    """Let a class note that an object of it was built."""
    init = cls.__init__

    @functools.wraps(init)
    def noted(self, *args, **keywords):
        USED.add(name)
        return init(self, *args, **keywords)

    cls.__init__ = noted


def pytest_runtest_setup(item):
    USED.clear()


def pytest_runtest_teardown(item):
    item.user_properties.append(("ours", sorted(USED)))


def pytest_runtest_logreport(report):
    """Write the outcome of each test: one line of JSON for each phase."""
    path = os.environ.get("PARITY_RECORD")
    if path and not os.environ.get("PYTEST_XDIST_WORKER"):
        ours = dict(report.user_properties).get("ours", [])
        line = {"test": report.nodeid, "when": report.when, "outcome": report.outcome}
        with Path(path).open("a") as file:
            file.write(json.dumps({**line, "ours": ours}) + "\n")


# -- the report, outside -------------------------------------------------------------


def run_package(package, arguments):
    """The tests of a package that used our classes: {test: passed}."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.jsonl"
        record.touch()
        command = [sys.executable, "-m", "pytest", "-p", "parity", "-c", os.devnull]
        command += ["-q", "-p", "no:cacheprovider", "--tb=short", *arguments]
        command += [f"--rootdir={peer_folder()}"]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT / "tools"), str(ROOT / "src")]),
            "PARITY_RECORD": str(record),
        }
        subprocess.run(
            [*command, "--pyargs", *PACKAGES[package]],
            cwd=folder,
            env=environment,
            check=False,
        )
        return read_record(record)


def peer_folder():
    """The folder that holds the peers' packages: test ids begin below it."""
    return Path(importlib.util.find_spec("sklearn").origin).parents[1]


def read_record(path):
    """Whether each test that built an object of ours passed; skipped ones left out."""
    outcomes: dict[str, bool | None] = {}
    used: dict[str, bool] = {}
    for text in path.read_text().splitlines():
        line = json.loads(text)
        name = line["test"]
        used[name] = used.get(name, False) or bool(line["ours"])
        if line["outcome"] == "failed":
            outcomes[name] = False
        elif line["outcome"] == "skipped":
            outcomes.setdefault(name, None)
        elif line["when"] == "call":
            outcomes.setdefault(name, True)
    return {
        name: passed
        for name, passed in outcomes.items()
        if used[name] and passed is not None
    }


def read_differences():
    """The rows of the list of explained failures: pattern of test ids, reason, text."""
    with DIFFERENCES.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["reason"] not in REASONS:
            raise SystemExit(f"{DIFFERENCES.name}: unknown reason {row['reason']!r}")
    return rows


def reason_of(test, differences):
    """Why a test fails, by the list; None if it is not there.

    A pattern is the end of a test id, with or without its parameters; * matches any
    text.
    """
    plain = test.split("[")[0]
    for row in differences:
        pattern = "*" + row["test"].replace("[", "[[]")
        if fnmatch.fnmatchcase(test, pattern) or fnmatch.fnmatchcase(plain, pattern):
            return row["reason"]
    return None


def main():
    arguments = sys.argv[1:]
    extra = []
    if "--" in arguments:
        at = arguments.index("--")
        extra = arguments[at + 1 :]
        arguments = arguments[:at]
    unknown = [name for name in arguments if name not in PACKAGES]
    if unknown:
        raise SystemExit(
            f"No tests of a peer are known for {', '.join(unknown)}: the packages are "
            f"{', '.join(PACKAGES)}."
        )
    differences = read_differences()
    lines = [f"{'package':24}{'tests':>7}{'passed':>8}{'share':>8}  failed, by reason"]
    breached = []
    for package in arguments or PACKAGES:
        outcomes = run_package(package, extra)
        failed = [test for test, passed in outcomes.items() if not passed]
        reasons = Counter(reason_of(test, differences) or "unlisted" for test in failed)
        passed = len(outcomes) - len(failed)
        counted = len(outcomes) - sum(reasons[reason] for reason in NOT_COUNTED)
        share = passed / counted if counted else 1.0
        if share < LIMIT:
            breached.append(f"{package}: {share:.3f} is below {LIMIT}")
        breached += [
            f"not listed: {test}"
            for test in failed
            if reason_of(test, differences) is None
        ]
        why = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
        lines.append(f"{package:24}{len(outcomes):7}{passed:8}{share:8.3f}  {why}")
    print("\n".join(lines))
    for line in breached:
        print(line)
    return bool(breached)


if __name__ == "__main__":
    sys.exit(main())
