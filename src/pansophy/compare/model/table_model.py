"""`TableModel`: the model that a comparison keeps, which predicts for new tables.

A `TableModel` holds the fitted pipeline (preparation and estimator), the schema that
reads a table, the decision threshold, the conformal scores behind intervals and sets,
summaries of the columns (`training_reference`), rows made of them as the background of
explanations, and the facts of the comparison. No training row is kept, unless the
estimator itself is made of them (nearest neighbours) or `with_background` is asked for.
It is plain data of listed classes, so that `pansophy.persist` writes it without pickle.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ...diagnose import Reference
from ...diagnose.findings import Finding, make_finding
from ...tables import MixedFrame, Schema, TableError, known_rows, read_table
from ..evaluation.adaptive_conformal import (
    AdaptiveScores,
    fit_adaptive_scores,
    true_class_scores,
)
from ..evaluation.conformal_scores import ConformalScores, fit_conformal_scores
from ..evaluation.paired_tests import design_of
from ..methods.method import FitContext
from ..methods.pipelines import fit_pipeline, make_pipeline, predict_all_classes
from ..splits import fold_horizon
from .training_reference import (
    ReferenceCheck,
    background_rows,
    count_out_of_range,
    frame_to_table,
    training_reference,
)

DEFAULT_LEVEL = 0.9  # of intervals and sets, where none is given
MAX_REFERENCE_ROWS = 100_000  # rows that summaries are made of, at most


@dataclass(frozen=True, repr=False)
class TableModel:
    """A fitted pipeline that takes tables; saved and loaded by `pansophy.persist`.

    Tables are paths, dataframes, Arrow tables or dicts of columns. It is an estimator
    of scikit-learn: it can be cloned, fitted again, scored and inspected.

    Attributes
    ----------
    schema : Schema
        Columns, their roles and levels, the task and the classes.
    method : str
        The name of the method in the comparison.
    pipeline : Pipeline
        Preparation and estimator, fitted on all rows.
    facts : dict
        Score with its interval, seed, versions and data hash of the comparison.
    reference : Reference or None
        What the training rows looked like, for `check`.
    background : Frame or None
        Rows made of the training columns one by one, for `explain`.
    conformal : ConformalScores, AdaptiveScores (along time) or None
        Scores of rows out of their fold, for intervals and sets.
    threshold : float or None
        Probability of the second of two classes from which on it is predicted; by
        default the more probable class is.
    """

    schema: Schema
    method: str
    pipeline: Any
    facts: dict
    reference: Reference | None = None
    background: MixedFrame | None = None
    conformal: ConformalScores | AdaptiveScores | None = None
    threshold: float | None = None

    def predict(self, table) -> np.ndarray:
        """One class label or number for each row; 0 or 1 for each of several labels."""
        p = self.scores(self._frame(table))
        if self.schema.task == "classification":
            return np.asarray(self.schema.classes)[self.decide(p)]
        return self.decide(p) if self.schema.task == "multilabel" else p

    def predict_proba(self, table) -> np.ndarray:
        """Probabilities, one column for each of `classes_` (or labels)."""
        if self.schema.task not in ("classification", "multilabel"):
            raise AttributeError("A model of numbers has no class probabilities.")
        p = self.scores(self._frame(table))
        return p[:, ::-1] if self._positive_sorts_first else p

    def predict_interval(self, table, level=DEFAULT_LEVEL) -> np.ndarray:
        """(n, 2): from where to where a share `level` of answers lies.

        The level holds for all rows together; intervals are wider where errors are.
        """
        held = self._conformal_scores("number", "predict_set")
        frame = self._frame(table)
        return held.interval(self.scores(frame), level, frame)

    def predict_set(self, table, level=DEFAULT_LEVEL) -> list[tuple]:
        """Classes among which each row's answer is, a share `level` of the time.

        Sets of two classes depend on the probabilities alone. Those of more classes
        are randomised by a number that is fixed for each row (`conformal`, eq. (6)).
        """
        held = self._conformal_scores("classification", "predict_interval")
        frame = self._frame(table)
        kept = held.sets(self.scores(frame), level, frame)
        return [tuple(c for c, k in zip(self.schema.classes, row) if k) for row in kept]

    def update_intervals(self, table) -> "TableModel":
        """A copy whose intervals or sets have learnt from answers known since.

        For models along time: the rows were predicted by this model, and their answers
        are in the table now. With every block of answers fed back, intervals keep their
        level in the long run, whatever the series does (`adaptive_conformal`).
        """
        if not isinstance(self.conformal, AdaptiveScores):
            raise ValueError(
                "Only intervals and sets along time are updated; this model has none."
            )
        table = read_table(table)
        missing = [t for t in self.schema.targets if t not in table.column_names]
        if missing:
            raise TableError(f"The answers are missing: there is no {missing[0]!r}.")
        known = known_rows(table, self.schema.targets)
        if not known.any():
            raise TableError(f"No row has a known {self.schema.target!r}.")
        table = table.filter(pa.array(known))
        frame = self.schema.frame(table)
        p = self.scores(frame)
        y = self.schema.target_values(table)
        if self.schema.task == "classification":
            scores = true_class_scores(y, p, frame, self.conformal.kind)
        else:
            scores = np.abs(y - p)
        held = self.conformal.extended(scores)
        if held.non_negative and (y < 0).any():
            held = held._replace(non_negative=False)
        return replace(self, conformal=held)

    # --- as an estimator of scikit-learn -------------------------------------------

    def fit(self, X, y, sample_weight=None) -> "TableModel":
        """Fit the same method again, to the rows of another table with these columns.

        What was known of the rows of the comparison (scores of intervals and sets,
        summaries for `check`, the background of `explain`) is dropped with them.

        Parameters
        ----------
        X : table, or array with the columns of `feature_names_in_`
        y : array-like
            Labels among `classes_`, or numbers.
        """
        frame = self._frame(X)
        codes = self._target_codes(y, len(frame))
        w = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        pipeline = clone(self.pipeline)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # counted during the comparison already
            fit_pipeline(pipeline, frame, codes, w, None, None)
        changed = {
            "pipeline": pipeline,
            "facts": {"fitted_on": len(frame)},
            "reference": None,
            "background": None,
            "conformal": None,
        }
        for name, value in changed.items():
            object.__setattr__(self, name, value)  # frozen against everybody else
        return self

    def score(self, X, y, sample_weight=None) -> float:
        """Accuracy of classes (all labels right), r2 of numbers."""
        from sklearn.metrics import accuracy_score, r2_score

        result = self.predict(X)
        if self.schema.task in ("regression", "count"):
            return float(r2_score(y, result, sample_weight=sample_weight))
        y = np.asarray(y)
        if self.schema.task == "classification" and y.dtype.kind != result.dtype.kind:
            y, result = y.astype(str), result.astype(str)
        return float(accuracy_score(y, result, sample_weight=sample_weight))

    def get_params(self, deep=True) -> dict:
        """Parameters of the model; with `deep` those of its pipeline too."""
        parameters = {"method": self.method, "threshold": self.threshold}
        parameters |= {"schema": self.schema, "pipeline": self.pipeline}
        if deep and hasattr(self.pipeline, "get_params"):
            inner = self.pipeline.get_params(deep=True)
            parameters |= {f"pipeline__{name}": value for name, value in inner.items()}
        return parameters

    def set_params(self, **params) -> "TableModel":
        """Set the threshold, or parameters of the pipeline for the next `fit`."""
        inner = {}
        for name, value in params.items():
            if name == "threshold":
                checked = self.with_threshold(value).threshold
                object.__setattr__(self, "threshold", checked)
            elif name.startswith("pipeline__"):
                inner[name.removeprefix("pipeline__")] = value
            else:
                raise ValueError(
                    f"{name!r} is no parameter of a kept model; there are threshold "
                    "and those of the pipeline, pipeline__..."
                )
        if inner:
            object.__setattr__(
                self, "pipeline", clone(self.pipeline).set_params(**inner)
            )
        return self

    @property
    def classes_(self) -> np.ndarray:
        """Labels of the classes, in the order of `predict_proba`.

        Two are sorted, as metrics of other libraries expect, also where the positive
        class, the second of `schema.classes`, sorts first.
        """
        if self.schema.task != "classification":
            raise AttributeError(f"A model for {self.schema.task} has no classes_.")
        classes = np.asarray(self.schema.classes)
        return classes[::-1] if self._positive_sorts_first else classes

    @property
    def _positive_sorts_first(self) -> bool:
        classes = self.schema.classes
        return len(classes) == 2 and classes[1] < classes[0]

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns that are used."""
        return np.asarray([c.name for c in self.schema.used], dtype=object)

    @property
    def n_features_in_(self) -> int:
        return len(self.schema.used)

    @property
    def _estimator_type(self) -> str:
        numbers = self.schema.task in ("regression", "count")
        return "regressor" if numbers else "classifier"

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags

        kind = self._estimator_type
        tags = Tags(estimator_type=kind, target_tags=TargetTags(required=True))
        if kind == "classifier":
            tags.classifier_tags = ClassifierTags(
                multi_class=len(self.schema.classes) > 2,
                multi_label=self.schema.task == "multilabel",
            )
        else:
            tags.regressor_tags = RegressorTags()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        try:
            check_is_fitted(self.pipeline)
        except NotFittedError:
            return False
        return True

    def __sklearn_clone__(self) -> "TableModel":
        """A model of this method and settings that is not fitted."""
        return replace(
            self,
            pipeline=clone(self.pipeline),
            facts={},
            reference=None,
            background=None,
            conformal=None,
        )

    def _target_codes(self, y, n) -> np.ndarray:
        """Answers as the pipeline learns them: codes of classes, or numbers."""
        y = np.asarray(y)
        if len(y) != n:
            raise ValueError(f"X has {n} rows and y has {len(y)}.")
        if self.schema.task != "classification":
            return y.astype(int if self.schema.task == "multilabel" else float)
        code = {str(label): i for i, label in enumerate(self.schema.classes)}
        unknown = sorted({str(v) for v in y.tolist()} - set(code))
        if unknown:
            raise ValueError(f"y holds {unknown[0]!r}, which is none of {list(code)}.")
        return np.array([code[str(v)] for v in y.tolist()])

    def explain(self, table, **options):
        """Contribution of each column to each prediction; see `shapley`."""
        from .shapley import explain_rows

        with ignore_user_warnings():
            return explain_rows(self, self._frame(table), **options)

    def check(self, table) -> list[Finding]:
        """Problems and differences of a table, one sentence a column."""
        table = read_table(table)
        findings = self.misfits(table)
        if not any(f.severity == "alarm" for f in findings) and self.reference:
            used = self.schema.used
            frame = self.schema.frame(table)
            looked = ReferenceCheck(self.reference, used)
            far = count_out_of_range(frame, looked.ends)
            findings += looked.add(frame_to_table(frame, used), far).findings()
        return findings

    def answer(self, table, level=None, proba=True, explain=False) -> pa.Table:
        """Predictions as columns of an Arrow table.

        Parameters
        ----------
        table : anything `read_table` takes
        level : float or None
            Adds an interval, or the set of classes, that holds the answer so often.
        proba : bool
            Adds the probability of each class or label.
        explain : bool or int
            Adds what is explained (`reasons for`: of two classes always the second,
            of more the predicted one), its base, and the columns that move it most.
        """
        from .prediction_table import prediction_table

        table = read_table(table)
        with ignore_user_warnings():
            return prediction_table(
                self, table, self.schema.frame(table), level, proba, explain
            )

    def scores(self, frame) -> np.ndarray:
        """Numbers (n,) or probabilities (n, K) for the rows of a frame."""
        with ignore_user_warnings():
            return self.raw_scores(frame)

    def raw_scores(self, frame) -> np.ndarray:
        """Scores for callers on threads, which silence warnings once for all."""
        task = self.schema.task
        K = len(self.schema.classes)
        steps = self.steps()
        if steps is None:
            return predict_all_classes(self.pipeline, frame, task, K)
        return predict_all_classes(steps[1], steps[0].transform(frame), task, K)

    def _loaded(self):
        """After loading: the parts are what they are called, the preparation is new."""
        kinds = {
            "schema": Schema,
            "method": str,
            "facts": dict,
            "reference": (Reference, type(None)),
            "background": (MixedFrame, type(None)),
            "conformal": (ConformalScores, AdaptiveScores, type(None)),
            "threshold": (float, int, type(None)),
        }
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"its {name} is not one")
        held = self.steps()
        if held is not None and not hasattr(held[0], "columns_of_"):
            raise ValueError("its preparation was saved by an unreleased pansophy")

    def steps(self):
        """(preparation, estimator), or None if several of them make up the model."""
        held = getattr(self.pipeline, "pipeline_", self.pipeline)  # of a tuned one
        named = getattr(held, "named_steps", {})
        if list(named) != ["prepare", "model"]:
            return None
        return named["prepare"], named["model"]

    def decide(self, p) -> np.ndarray:
        """Codes of classes, or 0 and 1 of labels, from probabilities."""
        t = 0.5 if self.threshold is None else self.threshold
        if self.schema.task == "multilabel":
            return (p >= t).astype(np.int64)
        if self.threshold is None:
            return p.argmax(axis=1)
        return (p[:, 1] >= t).astype(np.int64)

    def with_background(self, table) -> "TableModel":
        """A copy that explains against these rows, which it then keeps."""
        return replace(self, background=self._frame(table))

    def with_threshold(self, threshold) -> "TableModel":
        """A copy that says yes from this probability on; None for the likelier.

        Takes a number or what `choose_threshold` gives.
        """
        value = getattr(threshold, "threshold", threshold)
        is_binary = len(self.schema.classes) == 2 or self.schema.task == "multilabel"
        if value is not None and not is_binary:
            raise ValueError("A threshold is for two classes or for labels.")
        if value is not None and not value >= 0:
            raise ValueError(f"A threshold is a probability, got {value}.")
        return replace(self, threshold=None if value is None else float(value))

    def misfits(self, table) -> list[Finding]:
        """Columns that are missing, of another kind, or unknown to the model."""
        findings = []
        for c in self.schema.used:
            if c.name not in table.column_names:
                text = f"The table lacks the column {c.name!r}."
                findings.append(
                    make_finding("missing column", "alarm", text, column=c.name)
                )
                continue
            try:
                column_schema = replace(self.schema, columns=(c,))
                column_schema.frame(table.select([c.name]))
            except TableError as error:
                findings.append(
                    make_finding("wrong type", "alarm", str(error), column=c.name)
                )
        for name in self.schema.extra(table):
            text = f"The column {name!r} was not in training and is not used."
            findings.append(make_finding("unknown column", "note", text, column=name))
        return findings

    def _conformal_scores(self, kind, other) -> ConformalScores | AdaptiveScores:
        task = self.schema.task
        fits = task == kind if kind == "classification" else task != "classification"
        if not fits or task == "multilabel":
            cause = (
                "has no sets or intervals" if task == "multilabel" else f"has {other}"
            )
            raise AttributeError(f"A model for {task} {cause}.")
        if self.conformal is None:
            raise AttributeError(
                "The model was saved without out-of-fold scores: no intervals or sets."
            )
        return self.conformal

    def _frame(self, table) -> MixedFrame:
        if isinstance(table, np.ndarray):
            names = self.feature_names_in_.tolist()
            if table.ndim != 2 or table.shape[1] != len(names):
                raise ValueError(
                    f"X must have {len(names)} columns ({', '.join(names[:8])}"
                    f"{', ...' if len(names) > 8 else ''}), got an array of shape "
                    f"{table.shape}."
                )
            table = {
                name: column.tolist()
                for name, column in zip(names, table.T, strict=True)
            }
        return self.schema.frame(read_table(table))

    def __repr__(self):
        return f"TableModel({self.method!r}, target={self.schema.target!r})"

    def __str__(self):
        s, facts = self.schema, self.facts
        goal = s.task
        if s.classes:
            shown = ", ".join(map(str, s.classes[:6]))
            goal += f": {shown}" + (", ..." if len(s.classes) > 6 else "")
        lines = [f"{self.method} for {s.target!r} ({goal})"]
        shares = getattr(self.pipeline, "weights_", {})
        if shares:
            lines.append("  " + ", ".join(f"{a:.0%} {n}" for n, a in shares.items()))
        rows = facts.get("fitted_on", facts.get("rows"))
        fitted = "not fitted" if rows is None else f"fitted on {rows:,} rows"
        lines.append(
            f"  {fitted}, {len(s.used)} columns: "
            + ", ".join(c.name for c in s.used[:8])
            + (", ..." if len(s.used) > 8 else "")
        )
        for name, score in list(facts.get("scores", {}).items())[:3]:
            lines.append(f"  {name} {score[0]:.4g} ({score[1]:.4g} to {score[2]:.4g})")
        if self.threshold is not None:
            yes = s.classes[1] if s.classes else "yes"
            lines.append(f"  says {yes!r} from {self.threshold:.3g} on")
        return "\n".join(lines)


def ignore_user_warnings():
    """Levels never seen are expected in new tables; they need no warning a row."""
    return warnings.catch_warnings(action="ignore", category=UserWarning)


def fit_table_model(method, data, comparison) -> TableModel:
    """The pipeline of the winner on all rows, with all that a saved model holds."""
    model = make_pipeline(method, comparison.schema, full_fit_context(comparison))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # counted during the comparison already
        fit_pipeline(model, data.frame, data.y, data.weight, data.group, data.time)
    return assemble_table_model(method, model, data, comparison)


def full_fit_context(comparison) -> FitContext:
    settings, schema = comparison.settings, comparison.schema
    n = len(comparison.data)
    split = comparison.split
    horizon = 0
    if split is not None:
        horizon = fold_horizon(split.folds, split.times(comparison.data))
    metric = settings.get("metric", "")
    return FitContext(schema.task, n, settings["seed"], metric=metric, horizon=horizon)


def assemble_table_model(method, model, data, comparison, **more) -> TableModel:
    """A fitted pipeline with what is known of its training rows and its scores."""
    schema, settings = comparison.schema, comparison.settings
    row = next(r for r in comparison.leaderboard if r.method == method.name)
    kept = ("rows", "seed", "folds", "repeats", "data_hash", "versions")
    facts = {
        "scores": {k: [float(v) for v in s[:3]] for k, s in row.scores.items()},
        **{k: settings[k] for k in kept if k in settings},
        **more,
    }
    n = len(data)
    rng = np.random.default_rng(settings["seed"])
    sampled = np.sort(rng.permutation(n)[:MAX_REFERENCE_ROWS])
    return TableModel(
        schema,
        method.name,
        model,
        facts,
        training_reference(data.frame[sampled], schema.used),
        background_rows(data.frame[sampled], rng),
        held_out_scores(comparison, method.name),
    )


def held_out_scores(comparison, name) -> ConformalScores | AdaptiveScores | None:
    """The scores of held-out rows behind the intervals and sets of a method."""
    p = comparison.trial(name).predictions
    if p is None:
        return None
    data = comparison.data
    split = comparison.split
    task = comparison.schema.task
    if split is not None and split.kind == "time-ordered":
        block = design_of(split, data).fold_of[0]
        return fit_adaptive_scores(task, data.y, p, block, data.frame, data.weight)
    tested = slice(None) if split is None else split.tested(len(data))
    held = data.rows(tested)
    return fit_conformal_scores(
        task, held.y, p[tested], held.frame, held.weight, held.group
    )
