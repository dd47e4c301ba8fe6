"""Estimators that misbehave, and the little that the tests of the engine share."""

import os
import random
import signal
import sys
import threading
import time

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from pansophy.compare.execution.plan import ExecutionLimits
from pansophy.compare.execution.trials import run_trials
from pansophy.compare.methods.method_choice import choose_methods
from pansophy.compare.metrics import metrics_for
from pansophy.compare.samples import Samples
from pansophy.compare.splits import make_splits
from pansophy.tables import infer_schema


class Mean(RegressorMixin, BaseEstimator):
    """Predicts the mean; misbehaves by `how` once the row with target `mark` is out."""

    def __init__(self, how="", mark=None, log=None):
        self.how = how
        self.mark = mark
        self.log = log

    def fit(self, X, y):
        if self.log is not None:
            with open(self.log, "a") as file:
                file.write(f"{os.getpid()} {len(y)}\n")
                file.flush()
                self.end_ = file.tell()  # of this line, whoever wrote since
        self.mean_ = y.mean()
        if self.mark is None or not np.any(y == self.mark):
            getattr(self, self.how or "fine")(X, y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)

    def fine(self, X, y):
        pass

    def sleeps(self, X, y):
        time.sleep(60)

    def is_killed(self, X, y):
        """As by a person or the kernel: no fit sends itself this signal."""
        os.kill(os.getpid(), signal.SIGKILL)

    def killed_once(self, X, y):
        if not os.path.exists(f"{self.log}.killed"):
            open(f"{self.log}.killed", "w").close()
            self.is_killed(X, y)

    def takes_a_while(self, X, y):
        time.sleep(0.5)

    def waits(self, X, y):
        """From the third fit on, until there is a file `log`.go."""
        with open(self.log, "rb") as file:
            fits = file.read(self.end_).count(b"\n")
        while fits > 2 and not os.path.exists(f"{self.log}.go"):
            time.sleep(0.01)

    def hangs_in_c(self, X, y):
        sum(range(10**13))  # keeps the interpreter to itself

    def eats_memory(self, X, y):
        kept = []
        while True:
            kept.append(np.ones(2_000_000))
            time.sleep(0.01)  # time for the parent to look

    def asks_too_much(self, X, y):
        np.empty(10**9)  # 8 GB, which nobody touches

    def raises(self, X, y):
        raise FloatingPointError("went\nwrong")

    def answers_nan(self, X, y):
        self.mean_ = np.nan

    def leaves(self, X, y):
        sys.exit("bye")

    def vanishes(self, X, y):
        os._exit(3)

    def crashes(self, X, y):
        os.kill(os.getpid(), signal.SIGSEGV)

    def chats(self, X, y):
        os.write(1, b"noise" * 100_000)
        os.write(2, b"noise" * 100_000)
        print("noise" * 100_000)
        print(sys.stdin.read(1))

    def meddles(self, X, y):
        np.random.seed(0)
        random.seed(0)
        os.environ["OMP_NUM_THREADS"] = "7"
        os.environ.pop("PATH", None)
        np.seterr(all="ignore")
        os.chdir("/")
        self.mean_ += np.random.random() + random.random()

    def scribbles(self, X, y):
        X[:] = 0
        y[:] = 0

    def has_children(self, X, y):
        import subprocess

        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        with open(self.log, "a") as file:
            file.write(f"{child.pid} child\n")
        time.sleep(60)


class Dice(RegressorMixin, BaseEstimator):
    """Draws from the global generators."""

    def fit(self, X, y):
        self.mean_ = y.mean() + np.random.random() + random.random()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_) + np.random.random(len(X))


class Locked(RegressorMixin, BaseEstimator):
    """Cannot be pickled."""

    def __init__(self, lock=None):
        self.lock = lock

    def __deepcopy__(self, memo):
        return self

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


LOCK = threading.Lock()


class Odds(ClassifierMixin, BaseEstimator):
    """Answers even probabilities, or something that looks like them."""

    def __init__(self, how="fine"):
        self.how = how

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)

    def predict_proba(self, X):
        rows = {
            "fine": (0.5, 0.5),
            "rounded": (0.5, 0.5 + 1e-7),
            "negative": (1.5, -0.5),
            "too much": (0.7, 0.7),
        }
        return np.tile(rows[self.how], (len(X), 1))


def class_table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table({"x": rng.normal(size=n), "y": rng.choice(["a", "b"], n)})


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    return pa.table({"x": x, "z": z, "y": 3 * x + rng.normal(size=n)})


class Case:
    """A table ready to be run with some methods."""

    def __init__(self, methods, folds=5, repeats=1, source=None, **settings):
        source = table() if source is None else source
        self.schema = infer_schema(source, "y")
        self.data = Samples(
            self.schema.frame(source), self.schema.target_values(source)
        )
        self.metrics = metrics_for(self.schema.task)
        self.methods = choose_methods(self.schema, len(self.data), methods)[0]
        self.split = make_splits(
            self.data, self.schema, folds=folds, repeats=repeats, **settings
        )

    @property
    def parts(self):
        return self.methods, self.data, self.schema, self.metrics, self.split

    def mark(self, fold):
        """A target that is only held out in this fold (of the first repeat)."""
        return float(self.data.y[self.split.folds[fold][1][0]])

    def run(self, folder=None, show=False, **running):
        trials, self.complete = run_trials(
            *self.parts, ExecutionLimits(**running), folder, show
        )
        return {t.method.name: t for t in trials}


def same(a, b):
    """Whether trials agree bit for bit, times apart."""
    assert a.keys() == b.keys()
    for name, t in a.items():
        u = b[name]
        assert t.scores == u.scores and t.failure == u.failure, name
        assert t.warned == u.warned
        for p, q in ((t.losses, u.losses), (t.predictions, u.predictions)):
            assert (p is None) == (q is None)
            assert p is None or np.array_equal(p, q, equal_nan=True), name
    return True


def gone(pid, within=120.0):
    """Whether a process is no more."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


def open_run(case, path, **running):
    """Run a case in a run folder."""
    from pansophy.compare.execution.plan import make_plan
    from pansophy.compare.execution.run_folder import open_run as open_folder

    with open_folder(
        path, make_plan(*case.parts, ExecutionLimits(**running))
    ) as folder:
        return case.run(folder, **running)
