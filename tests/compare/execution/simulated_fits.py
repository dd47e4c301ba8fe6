"""Fits that are drawn, not done: the race in any order of jobs, within milliseconds."""

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from pansophy.compare.execution.plan import FailureKind, FitOutcome, JobQueue
from pansophy.compare.execution.trials import TrialAggregator
from pansophy.compare.metrics import metrics_for
from pansophy.compare.samples import Samples
from pansophy.compare.splits import make_splits
from tests.compare.execution.workloads import work_of
from tests.compare.faulty_estimators import Case, class_table

NAMES = ("first", "second", "third", "fourth")
REPEATS, FOLDS = 4, 3


def case_of_rows():
    own = dict.fromkeys(NAMES, DummyRegressor())
    return Case(own, folds=FOLDS, repeats=REPEATS)


def case_with(**columns):
    """Some more columns that decide folds or tests, such as weights and groups."""
    case = case_of_rows()
    case.data = Samples(case.data.frame, case.data.y, **columns)
    case.split = make_splits(case.data, case.schema, folds=FOLDS, repeats=REPEATS)
    return case


def case_without_row_losses():
    own = dict.fromkeys(NAMES, DummyClassifier())
    case = Case(own, folds=FOLDS, repeats=REPEATS, source=class_table())
    case.metrics = metrics_for(case.schema.task, "roc_auc")
    assert case.metrics[0].row_losses is None
    return case


VARIANTS = {
    "rows": case_of_rows,
    "weights": lambda: case_with(weight=1.0 + np.arange(60) % 3),
    "groups": lambda: case_with(group=np.arange(60) // 3),
    "no row losses": case_without_row_losses,
}


class SimulatedFits:
    """The outcome of each job (method, fold), the same whenever it is asked for."""

    def __init__(self, case, seed, failing=None):
        self.case, self.seed = case, seed
        rng = np.random.default_rng(seed)
        count, total = len(case.methods), len(case.split.folds)
        self.bias = np.concatenate([[1.5], rng.choice([0.0, 0.1, 1.0, 3.0], count - 1)])
        self.bias[-1] = 3.0  # the last one is hopeless
        if failing is None:
            m, folds = rng.integers(1, count - 1), rng.integers(0, total, 2)
            failing = {(int(m), int(f)): "no" for f in folds}
        self.failing = failing

    def __call__(self, m, f):
        if (m, f) in self.failing:
            return FitOutcome(m, f, failure="no", kind=FailureKind.ERROR)
        case = self.case
        rng = np.random.default_rng([self.seed, m, f])
        test = case.split.folds[f][1]
        y = case.data.y[test]
        noise = rng.normal(size=len(test))
        if case.schema.task == "regression":
            p = y + self.bias[m] + 0.1 * noise
        else:
            odds = np.exp((2 * y - 1) * (3 - self.bias[m]) + noise)
            p = np.stack([1 / (1 + odds), odds / (1 + odds)], axis=1)
        w = case.data.weight
        more = () if w is None else (w[test],)
        scores = {k.name: float(k.score(y, p, *more)) for k in case.metrics}
        return FitOutcome(m, f, scores, 0.1, 1e-6, p)

    def without_race(self):
        """The jobs of a run in which nobody stops."""
        for m in range(len(self.case.methods)):
            for f in range(len(self.case.split.folds)):
                yield m, f
                if (m, f) in self.failing:
                    break


def simulated_race(case, fits, workers=1, rng=None, kept=()):
    """Trials by name, jobs ending in an order drawn by `rng`, in order without it.

    Outcomes of the jobs in `kept` are there from an earlier run.
    """
    work = work_of(case)
    total = len(work.folds)
    job_queue = JobQueue(len(work.methods), total)
    aggregator = TrialAggregator(work, case.split, range(1, len(work.methods)))
    for job in kept:
        outcome = fits(*job)
        job_queue.close(outcome)
        aggregator.add(outcome)
    aggregator.race.update(aggregator, job_queue)
    active: list = []
    while job_queue or any(job_queue.is_needed(*job) for job in active):
        while len(active) < workers:
            known = () if rng is None else rng.permutation(total)[: total // 2].tolist()
            job = job_queue.take(known)
            if job is None:
                break
            active.append(job)
        assert active, "fits are left, and none of them may begin"
        job = active.pop(0 if rng is None else rng.integers(len(active)))
        if rng is not None and rng.random() < 0.1:  # its worker was killed
            job_queue.put_back(*job)
            continue
        outcome = fits(*job)
        if job_queue.accepts(outcome):
            job_queue.close(outcome)
            aggregator.add(outcome)
            aggregator.race.update(aggregator, job_queue)
    return {k.name: aggregator.trial(m, k) for m, k in enumerate(case.methods)}
