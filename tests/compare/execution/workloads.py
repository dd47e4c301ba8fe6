"""Workloads of the tests of single folds."""

from pansophy.compare.execution.fit_fold import Workload, fit_context
from pansophy.compare.execution.plan import ExecutionLimits


def work_of(case):
    setting = fit_context(case.schema, case.split.folds, ExecutionLimits())
    return Workload(
        case.data,
        case.schema,
        case.metrics,
        case.split.folds,
        list(case.methods),
        setting,
    )
