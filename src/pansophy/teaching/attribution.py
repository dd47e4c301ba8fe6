"""Error attribution: which stage of a pipeline causes the errors.

A pipeline maps x through stages f_1, ..., f_K. Let E_k be its error when the output of
stage k is replaced by the true output, E_0 the error of the whole pipeline, and E_K = 0
since the last output is then the truth. The error that stage k adds is

    a_k = E_{k-1} - E_k,    and    a_1 + ... + a_K = E_0.                          (1)

A perfect stage gets 0; a stage gets less than 0 where it repairs errors of earlier
stages. Stages whose true output is not known are joined with the next known one.
"""

from typing import NamedTuple

import numpy as np

from .risk import LOSSES


class Attribution(NamedTuple):
    """The error of a pipeline and of its stages; prints one line for each stage."""

    error: float
    stages: tuple[str, ...]  # those of unknown truth joined to the next by " + "
    added: np.ndarray  # eq. (1)
    remaining: np.ndarray  # error with the output of the stage replaced by the truth

    @property
    def worst(self) -> str:
        return self.stages[int(np.argmax(self.added))]

    def __str__(self):
        lines = [f"The whole has error {self.error:.4g}."]
        for name, a in zip(self.stages, self.added, strict=True):
            share = f" ({a / self.error:.0%})" if self.error else ""
            lines.append(f"{name}: {a:.4g}{share}")
        return "\n".join(lines)


def _stages_of(pipeline):
    """The stages as [(name, function)], of a fitted Pipeline or of such a list."""
    if not hasattr(pipeline, "steps"):
        return [(str(name), f) for name, f in pipeline]
    *early, (name, last) = pipeline.steps
    results = [(n, s.transform) for n, s in early if s not in (None, "passthrough")]
    return [*results, (name, last.predict)]


def attribute_error(pipeline, X, y, truths, *, loss="squared") -> Attribution:
    """Attribute the error of a pipeline to its stages, eq. (1).

    Parameters
    ----------
    pipeline : fitted Pipeline of scikit-learn, or list of (name, function)
        Each function takes the output of the one before.
    X : input of the first stage
    y : what the last stage should give
    truths : dict of stage name -> what that stage should have given for X
        The last one is y; others may be left out.
    loss : {"squared", "absolute", "zero_one"} or function of (y, prediction)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.teaching import attribute_error
    >>> x = np.arange(4.0)
    >>> stages = [("double", lambda v: 2 * v), ("add", lambda v: v + 3)]  # should be 2
    >>> print(attribute_error(stages, x, 2 * x + 2, {"double": 2 * x}))
    The whole has error 1.
    double: 0 (0%)
    add: 1 (100%)
    """
    value = loss if callable(loss) else LOSSES.get(loss)
    if value is None:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}.")
    stages = _stages_of(pipeline)
    unknown = set(truths) - {name for name, _ in stages}
    if unknown:
        raise ValueError(f"truths name no stage: {sorted(unknown)}.")
    truths = {**truths, stages[-1][0]: y}

    def error(output, rest):
        for _, stage in rest:
            output = stage(output)
        return float(np.mean(value(np.asarray(y), np.asarray(output))))

    total_error = error(X, stages)
    names = []
    left = []
    pending = []
    for k, (name, _) in enumerate(stages):
        pending.append(name)
        if name in truths:
            names.append(" + ".join(pending))
            left.append(error(truths[name], stages[k + 1 :]))
            pending = []
    remaining = np.array(left)
    added = np.concatenate([[total_error], remaining[:-1]]) - remaining
    return Attribution(total_error, tuple(names), added, remaining)
