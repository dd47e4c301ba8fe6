"""The boosters of LightGBM, XGBoost and CatBoost, in one shape.

They are trained through their own interfaces, quietly, seeded and on the threads the
process may use. What is kept of a fit is the model in that library's own text format
(LightGBM's text, JSON of XGBoost and CatBoost), as bytes: a saved winner is loaded
without pickle by whoever has the library, and no live object is stored. It is checked
by `booster_files` when a file is loaded and before the library sees it.

Categories are the columns `categorical_features`, codes with NaN for missing; other
columns may hold NaN. All three grow trees on histograms by the second-order expansion
of the loss; leaves are limited by number (CatBoost grows by levels: by depth).

With `patience`, a tenth of the rows is set aside first, stratified by class, until
their loss has not fallen for so many rounds; as many rounds as led to the lowest are
then done on all rows.
"""

import tempfile
import warnings
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from ...base import Classifier, Estimator, Regressor
from ...core.loops import threads
from ...params import Count, Natural, NonNegative, Positive
from ...persist import PersistError
from ...typing import ListLike, Seed
from .booster_files import checked_booster

Library = Literal["lightgbm", "xgboost", "catboost"]


class BoosterTask(NamedTuple):
    """Learning task of an external booster."""

    objective: str  # "squared_error", "poisson", "binary" or "classes"
    classes: int
    categories: list[int]
    seed: int


class BoosterRows(NamedTuple):
    """Rows for training or for early stopping."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray | None


def _lightgbm_fit(model, task, rows, rounds, validation) -> tuple[bytes, int]:
    import lightgbm

    X = rows.X

    names = {"squared_error": "regression", "classes": "multiclass"}
    parameters = {
        "objective": names.get(task.objective, task.objective),
        "learning_rate": model.learning_rate,
        "num_leaves": model.max_leaves,
        "min_data_in_leaf": model.min_samples_leaf,
        "min_data_per_group": max(1, min(100, len(X) // 20)),
        "lambda_l2": model.l2,
        "feature_fraction": model.column_share,
        "seed": task.seed,
        "num_threads": threads.usable_threads(),
        "deterministic": True,
        "force_row_wise": True,
        "verbosity": -1,
    }
    if task.objective == "classes":
        parameters["num_class"] = task.classes
    data = lightgbm.Dataset(
        X,
        rows.y,
        weight=rows.w,
        categorical_feature=task.categories,
        params={"verbosity": -1, "min_data_in_bin": 1 if len(X) < 200 else 3},
        free_raw_data=True,
    )
    options = {}
    if validation is not None:
        stop = lightgbm.early_stopping(model.patience, verbose=False)
        valid = data.create_valid(validation.X, validation.y, weight=validation.w)
        options = {"valid_sets": [valid], "callbacks": [stop]}
    with warnings.catch_warnings(action="ignore"):  # that bins are those of `data`
        fitted = lightgbm.train(parameters, data, rounds, **options)
    return fitted.model_to_string().encode(), fitted.best_iteration


def _lightgbm_load(serialized):
    import lightgbm

    return lightgbm.Booster(model_str=serialized.decode())


def _lightgbm_predict(loaded, X, task):
    return loaded.predict(X, num_threads=threads.usable_threads())


def _xgboost_data(task, X, y=None, w=None):
    import xgboost

    kinds = ["q"] * X.shape[1]
    for j in task.categories:
        kinds[j] = "c"
    return xgboost.DMatrix(
        X,
        y,
        weight=w,
        feature_types=kinds,
        enable_categorical=True,
        nthread=threads.usable_threads(),
    )


def _xgboost_fit(model, task, rows, rounds, validation) -> tuple[bytes, int]:
    import xgboost

    names = {
        "squared_error": "reg:squarederror",
        "poisson": "count:poisson",
        "binary": "binary:logistic",
        "classes": "multi:softprob",
    }
    parameters = {
        "objective": names[task.objective],
        "eta": model.learning_rate,
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": model.max_leaves,
        "max_depth": 0,
        "min_child_weight": 1.0,
        "lambda": model.l2,
        "colsample_bytree": model.column_share,
        "seed": task.seed,
        "nthread": threads.usable_threads(),
        "verbosity": 0,
    }
    if task.objective == "classes":
        parameters["num_class"] = task.classes
    data = _xgboost_data(task, *rows)
    options = {}
    if validation is not None:
        options = {"evals": [(_xgboost_data(task, *validation), "aside")]}
        options["early_stopping_rounds"] = model.patience
    fitted = xgboost.train(parameters, data, rounds, verbose_eval=False, **options)
    best = rounds if validation is None else fitted.best_iteration + 1
    return bytes(fitted.save_raw("json")), best


def _xgboost_load(serialized):
    import xgboost

    loaded = xgboost.Booster({"verbosity": 0})
    loaded.load_model(bytearray(serialized))
    return loaded


def _xgboost_predict(loaded, X, task):
    loaded.set_param({"nthread": threads.usable_threads()})
    return loaded.predict(_xgboost_data(task, X))


def _catboost_data(task, X, y=None, w=None):
    """Numbers as floats, categories as words: CatBoost takes no NaN for a category."""
    import catboost

    rest = [j for j in range(X.shape[1]) if j not in set(task.categories)]
    codes = np.nan_to_num(X[:, task.categories], nan=-1.0).astype(int)
    known, codes = np.unique(codes, return_inverse=True)
    words = np.array([b"%d" % k for k in known], dtype=object)
    held = catboost.FeaturesData(
        num_feature_data=np.ascontiguousarray(X[:, rest], dtype=np.float32),
        cat_feature_data=words[codes.reshape(len(X), len(task.categories))],
    )
    return catboost.Pool(held, y, weight=w)


def _catboost_fit(model, task, rows, rounds, validation) -> tuple[bytes, int]:
    import catboost

    names = {
        "squared_error": "RMSE",
        "poisson": "Poisson",
        "binary": "Logloss",
        "classes": "MultiClass",
    }
    parameters = {
        "loss_function": names[task.objective],
        "learning_rate": model.learning_rate,
        "iterations": rounds,
        "depth": int(np.clip(round(np.log2(model.max_leaves)) + 1, 2, 10)),
        "l2_leaf_reg": model.l2,
        "rsm": model.column_share,
        "random_seed": task.seed,
        "thread_count": threads.usable_threads(),
        "logging_level": "Silent",
        "allow_writing_files": False,
    }
    options = {}
    if validation is not None:
        options = {
            "eval_set": _catboost_data(task, *validation),
            "use_best_model": True,
        }
        options["early_stopping_rounds"] = model.patience
    fitted = catboost.CatBoost(parameters).fit(_catboost_data(task, *rows), **options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        fitted.save_model(str(path), format="json", pool=_catboost_data(task, *rows))
        return path.read_bytes(), fitted.tree_count_


def _catboost_load(serialized):
    import catboost

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_bytes(serialized)
        return catboost.CatBoost().load_model(str(path), format="json")


def _catboost_predict(loaded, X, task):
    kind = {"binary": "Probability", "classes": "Probability", "poisson": "Exponent"}
    p = loaded.predict(
        _catboost_data(task, X),
        prediction_type=kind.get(task.objective, "RawFormulaVal"),
        thread_count=threads.usable_threads(),
    )
    return p[:, 1] if task.objective == "binary" else p


FIT = {"lightgbm": _lightgbm_fit, "xgboost": _xgboost_fit, "catboost": _catboost_fit}
LOAD = {
    "lightgbm": _lightgbm_load,
    "xgboost": _xgboost_load,
    "catboost": _catboost_load,
}
PREDICT = {
    "lightgbm": _lightgbm_predict,
    "xgboost": _xgboost_predict,
    "catboost": _catboost_predict,
}


def _validation_split(rows, by_class, task) -> tuple[BoosterRows, BoosterRows | None]:
    """Nine tenths to learn from, and the others; all of them if they are too few."""
    n = len(rows.y)
    has_all_classes = (
        not by_class or np.bincount(rows.y, minlength=task.classes).min() > 1
    )
    if n < 10 * max(2, task.classes) or not has_all_classes:
        return rows, None
    a, b = train_test_split(
        np.arange(n),
        test_size=0.1,
        random_state=task.seed,
        stratify=rows.y if by_class else None,
    )
    pick = lambda i: BoosterRows(*(None if v is None else v[i] for v in rows))
    return pick(a), pick(b)


def _fit_booster(model, X, y, w, objective, classes) -> None:
    """Fit, and keep the bytes and the task on the estimator."""
    seed = model.random_state
    model.task_ = BoosterTask(
        objective,
        classes,
        list(model.categorical_features or ()),
        0 if seed is None else int(seed),
    )
    rows = BoosterRows(X, y, w)
    rounds = model.n_estimators
    fit = FIT[model.library]
    task = model.task_
    training_rows = rows
    aside = None
    if model.patience:
        training_rows, aside = _validation_split(
            rows, objective in ("binary", "classes"), task
        )
    if aside is not None:
        rounds = max(1, fit(model, task, training_rows, rounds, aside)[1])
    kept, _ = fit(model, task, rows, rounds, None)
    model.__dict__.pop("booster", None)
    model.kept_ = np.frombuffer(kept, np.uint8)


def _checked_content(model) -> bytes:
    """What is kept of a fit, safe for the library; PersistError if it is not."""
    kept, task = model.kept_, model.task_
    is_bytes = isinstance(kept, np.ndarray) and kept.dtype == np.uint8
    if not is_bytes or model.library not in LOAD or not isinstance(task, BoosterTask):
        raise PersistError("the file holds a booster without its model")
    d = model.n_features_in_
    if type(model) is BoosterClassifier:
        n_classes = len(model.classes_)
        objective = "binary" if n_classes == 2 else "classes"
        if (task.objective, task.classes) != (objective, n_classes):
            raise PersistError("the file holds a booster of other classes")
    elif task.objective != model.objective:
        raise PersistError("the file holds a booster of another objective")
    return checked_booster(model.library, kept.tobytes(), task, d)


def booster_predictions(model, X) -> np.ndarray:
    X = model._check_new_data(X, ensure_all_finite="allow-nan")
    return np.asarray(PREDICT[model.library](model.booster, X, model.task_), float)


@dataclass(eq=False, repr=False)
class BoosterClassifier(Classifier, Estimator):
    """A booster of another library for classes.

    Parameters
    ----------
    library : {"lightgbm", "xgboost", "catboost"}
    n_estimators, learning_rate, max_leaves, min_samples_leaf, l2, column_share
        Rounds, the step of each, leaves and rows a leaf of a tree (rows: LightGBM
        only), the squared penalty on leaf values, the share of columns a tree sees.
    patience : int
        Rounds without gain on rows set aside, after which to stop; 0 uses all rows
        and does all rounds.
    categorical_features : list of int or None
        Columns that hold codes.
    random_state : int

    Attributes
    ----------
    classes_ : array
    kept_ : array of uint8
        The model in the library's own format.
    """

    library: Library = "lightgbm"
    _: KW_ONLY
    n_estimators: Count = 200
    learning_rate: Positive = 0.05
    max_leaves: Count = 31
    min_samples_leaf: Count = 20
    l2: NonNegative = 1.0
    column_share: Positive = 1.0
    patience: Natural = 0
    categorical_features: ListLike | None = None
    random_state: Seed = None

    def fit(self, X, y, sample_weight=None):
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", ensure_all_finite="allow-nan"
        )
        self.classes_, codes = np.unique(y, return_inverse=True)
        k = len(self.classes_)
        if k < 2:
            raise ValueError("y has one class; there is nothing to learn.")
        _fit_booster(self, X, codes, w, "binary" if k == 2 else "classes", k)
        return self

    @cached_property
    def booster(self):
        """The library's own object, made from `kept_`."""
        return LOAD[self.library](_checked_content(self))

    def _loaded(self):
        if hasattr(self, "kept_"):
            _checked_content(self)

    def predict_proba(self, X) -> np.ndarray:
        p = booster_predictions(self, X)
        return np.stack([1 - p, p], 1) if p.ndim == 1 else p

    def predict(self, X) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@dataclass(eq=False, repr=False)
class BoosterRegressor(Regressor, Estimator):
    """A booster of another library for numbers; parameters as for classes.

    `objective` is "squared_error" or "poisson" (for counts).
    """

    library: Library = "lightgbm"
    _: KW_ONLY
    objective: Literal["squared_error", "poisson"] = "squared_error"
    n_estimators: Count = 200
    learning_rate: Positive = 0.05
    max_leaves: Count = 31
    min_samples_leaf: Count = 20
    l2: NonNegative = 1.0
    column_share: Positive = 1.0
    patience: Natural = 0
    categorical_features: ListLike | None = None
    random_state: Seed = None

    def fit(self, X, y, sample_weight=None):
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="number", ensure_all_finite="allow-nan"
        )
        _fit_booster(self, X, y, w, self.objective, 0)
        return self

    @cached_property
    def booster(self):
        """The library's own object, made from `kept_`."""
        return LOAD[self.library](_checked_content(self))

    def _loaded(self):
        if hasattr(self, "kept_"):
            _checked_content(self)

    def predict(self, X) -> np.ndarray:
        return booster_predictions(self, X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
