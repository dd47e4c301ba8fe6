"""The class under every estimator: data checked once, whatever holds it."""

import math
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError

import pansophy
from pansophy import base
from pansophy.base import Estimator, InterruptedFitWarning, validate_rows
from pansophy.cluster import KMeans
from pansophy.core.arrays.rows import DatasetRows
from pansophy.core.arrays.weighted import check_sample_weight
from pansophy.core.drivers.iterate import iterate
from pansophy.ensemble import HistGradientBoostingRegressor
from pansophy.linear_model import LinearRegression
from pansophy.params import Count, ParameterError


@dataclass(eq=False, repr=False)
class Probe(Estimator):
    """Fits nothing; its helpers are what is tested."""

    k: Count = 1

    def fit(self, X):
        self._check_training_data(X)
        self.done_ = True
        return self


X = np.arange(12.0).reshape(6, 2)


# -- _begin ------------------------------------------------------------------------


def test_parameters_come_before_data():
    with pytest.raises(ParameterError, match="k of Probe"):
        Probe(0)._check_training_data("no such file.parquet")


def test_numpy_input():
    model = Probe()
    Y, w = model._check_training_data(X.tolist(), sample_weight=np.ones(6))
    assert Y.dtype == np.float64
    assert w.dtype == np.float64
    assert model.n_features_in_ == 2
    Y, w = model._check_training_data(X.astype(np.float32), sample_weight=2)
    assert Y.dtype == w.dtype == np.float32
    assert w.tolist() == [2] * 6
    assert model._check_training_data(X.astype(int))[0].dtype == np.float64
    assert model._check_training_data(X)[1] is None


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_entries_stored_in_parts_are_added_up(kind):
    """A loop over entries would take the parts for values of their own."""
    whole = kind(X)
    parts = kind(
        (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr),
        shape=whole.shape,
    )
    found = validate_rows(Probe(), parts, accept_sparse=True)
    assert found.nnz == whole.nnz and parts.nnz == 2 * whole.nnz
    np.testing.assert_array_equal(found.toarray(), X)
    assert validate_rows(Probe(), whole, accept_sparse=True).nnz == whole.nnz


def test_complex_numbers_get_one_sentence():
    with pytest.raises(ValueError, match="Complex data not supported") as caught:
        Probe()._check_training_data(X + 1j)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [">f8", ">f4", ">i4", "<i8"])
def test_rows_are_read_in_the_byte_order_of_the_machine(kind):
    found = validate_rows(Probe(), X.astype(kind), dtype=None)
    assert found.dtype.isnative and found.dtype == np.dtype(kind).newbyteorder("=")
    np.testing.assert_array_equal(found, X.astype(kind))


def test_kinds_of_targets():
    model = Probe()
    _, y, _ = model._check_training_data(X, list("ababab"), y_kind="class")
    assert y.tolist() == list("ababab")
    with pytest.raises(ValueError, match="Unknown label type"):
        model._check_training_data(X, np.linspace(0, 1, 6), y_kind="class")
    with pytest.warns(DataConversionWarning):
        assert (
            model._check_training_data(X, np.ones((6, 1)), y_kind="class")[1].ndim == 1
        )
    y = np.array([1, 2.5, 3, 4, 5, 6], dtype=object)
    assert model._check_training_data(X, y, y_kind="number")[1].dtype == np.float64
    with pytest.raises(ValueError, match="y of Probe must hold numbers, got <U1"):
        model._check_training_data(X, ["1"] * 6, y_kind="number")
    with pytest.raises(ValueError, match="y should be a 1d array"):
        model._check_training_data(X, np.ones((6, 2)), y_kind="number")
    assert model._check_training_data(X, np.ones((6, 2)), y_kind="numbers")[
        1
    ].shape == (6, 2)


@pytest.mark.parametrize(
    "bad",
    [np.full((3, 2), np.nan), np.full((3, 2), np.inf), np.ones(3), np.ones((0, 2))],
)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_bad_rows_are_refused(bad, library):
    if library == "torch":
        bad = pytest.importorskip("torch").asarray(bad)
    with pytest.raises(ValueError, match=r"2D|0 sample|one row|(NaN|infinity)"):
        Probe()._check_training_data(bad)


def test_sparse_only_where_asked():
    S = sparse.csr_array(X)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        Probe()._check_training_data(S)
    assert sparse.issparse(Probe()._check_training_data(S, accept_sparse="csr")[0])


def test_tensors_are_checked_and_kept():
    torch = pytest.importorskip("torch")
    T, model = torch.asarray(X), Probe()
    Y, y, w = model._check_training_data(
        T, torch.arange(6.0), torch.ones(6), y_kind="number"
    )
    assert Y is T
    assert model.n_features_in_ == 2
    assert isinstance(y, torch.Tensor)
    assert w.dtype == T.dtype
    assert (
        model._check_training_data(torch.arange(6).reshape(3, 2))[0].dtype
        == torch.float64
    )
    assert (
        model._check_training_data(T.float(), sample_weight=np.ones(6))[1].dtype
        == torch.float32
    )
    with pytest.raises(ValueError, match="X has 6 rows, but y has 5 entries"):
        model._check_training_data(T, torch.ones(5), y_kind="number")
    with pytest.raises(ValueError, match="Input y of Probe contains NaN"):
        model._check_training_data(T, torch.full((6,), math.nan), y_kind="number")
    with pytest.raises(ValueError, match="Input X of Probe contains NaN or infinity"):
        model._check_training_data(T * math.nan)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        model._check_training_data(T[0])


def test_tables(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), path)
    model = Probe().fit(path)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    R = model._check_training_data(path, sample_weight=np.arange(6))[0]
    assert isinstance(R, DatasetRows)
    assert isinstance(model._check_new_data(path), DatasetRows)
    pq.write_table(pa.table({"b": X[:, 1], "c": X[:, 0], "a": X[:, 0]}), path)
    np.testing.assert_array_equal(model._check_new_data(path).map(lambda X: X), X)
    pq.write_table(pa.table({"b": X[:, 1]}), path)
    with pytest.raises(ValueError, match="no column named 'a'"):
        model._check_new_data(path)
    with pytest.raises(ValueError, match="X has 1 features, but Probe is expecting 2"):
        Probe().fit(X)._check_new_data(path)
    pq.write_table(pa.table({"a": np.zeros(0)}), path)
    with pytest.raises(ValueError, match="needs at least one row"):
        model._check_training_data(path)


# -- _ready ------------------------------------------------------------------------


def test_ready_wants_a_fitted_model_and_as_many_columns():
    with pytest.raises(NotFittedError):
        Probe()._check_new_data(X)
    model = Probe().fit(X)
    np.testing.assert_array_equal(model._check_new_data(X), X)
    with pytest.raises(ValueError, match="X has 1 features, but Probe is expecting 2"):
        model._check_new_data(X[:, :1])
    torch = pytest.importorskip("torch")
    assert model._check_new_data(torch.asarray(X)).shape == (6, 2)
    with pytest.raises(ValueError, match="X has 1 features, but Probe is expecting 2"):
        model._check_new_data(torch.asarray(X[:, :1]))


# -- weights -----------------------------------------------------------------------


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize(
    ("w", "words"),
    [
        ([1.0] * 5, "expected \\(6,\\)"),
        ([[1.0]] * 6, "must be 1D"),
        ([1, 1, 1, 1, 1, math.nan], "sample_weight contains NaN"),
        ([1, 1, 1, 1, 1, math.inf], "sample_weight contains NaN or infinity"),
        ([1, 1, 1, 1, 1, -1], "Negative values"),
        ([0] * 6, "every sample_weight is zero"),
        ("abc", "must hold numbers"),
    ],
)
def test_bad_weights(w, words, library):
    data = X if library == "numpy" else pytest.importorskip("torch").asarray(X)
    with pytest.raises(ValueError, match=words):
        check_sample_weight(w, data)


def test_good_weights():
    assert check_sample_weight(None, X) is None
    assert check_sample_weight(3, X).tolist() == [3.0] * 6
    assert check_sample_weight(np.arange(6), X).dtype == np.float64
    torch = pytest.importorskip("torch")
    T = torch.asarray(X, dtype=torch.float32)
    assert check_sample_weight(np.arange(6), T).dtype == torch.float32
    assert check_sample_weight(2, T).tolist() == [2.0] * 6


# -- _drive ------------------------------------------------------------------------


class State(NamedTuple):
    objective: float


def drive(step, most=20):
    model = Probe()
    run = lambda task: iterate(step, State(8.0), max_iter=most, tol=1e-3, task=task)
    return model, lambda: model._run_driver(run, total=most)


def test_a_run_is_recorded():
    model, go = drive(lambda s: State(s.objective / 2))
    result = go()
    assert model.n_iter_ == result.n_iter == len(model.history_["objective"])
    assert model.converged_
    assert not model.interrupted_


def test_one_warning_for_each_way_to_fall_short():
    def interrupt(s):
        raise KeyboardInterrupt

    cases = [
        (
            lambda s: State(s.objective / 2),
            2,
            ConvergenceWarning,
            "did not converge in 2",
        ),
        (
            lambda s: State(math.nan),
            9,
            ConvergenceWarning,
            "diverged after 0 iterations",
        ),
        (interrupt, 9, InterruptedFitWarning, "was interrupted after 0 iterations"),
    ]
    for step, most, kind, words in cases:
        model, go = drive(step, most)
        with pytest.warns(kind, match=words) as caught:
            go()
        assert len(caught) == 1
        assert not model.converged_


def test_an_interrupted_stage_ends_the_whole_fit():
    class Stage:
        def fit(self, X, y=None, *, interrupt=False):
            if interrupt:
                warnings.warn("stopped by hand", InterruptedFitWarning, stacklevel=2)
            warnings.warn("another matter", UserWarning, stacklevel=2)
            return self

    stage = Stage()
    with pytest.warns(UserWarning, match="another matter"):
        assert base.fit_stage(stage, [[0.0]], [1]) is stage
    with pytest.raises(KeyboardInterrupt):
        base.fit_stage(stage, [[0.0]], interrupt=True)


def test_roles_carry_no_fields():
    roles = [base.Classifier, base.Regressor, base.Clusterer, base.Transformer]
    for role in [*roles, base.Density, base.PrefixedOutput]:
        assert not getattr(role, "__annotations__", {})
        assert "__init__" not in vars(role)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("kind", ["dates", "durations"])
def test_dates_in_x_are_refused_with_their_column(library, kind):
    frames = pytest.importorskip(library)
    days = np.arange(6).astype("M8[ns]" if kind == "dates" else "m8[ns]")
    X = frames.DataFrame({"a": np.arange(6.0), "day": days})
    for model in (LinearRegression(), KMeans(2)):
        with pytest.raises(ValueError, match=f"column 'day' of X holds {kind}"):
            model.fit(X, np.arange(6.0))
    with pytest.raises(ValueError, match=f"^X holds {kind}"):
        KMeans(2).fit(days[:, None])
    fitted = KMeans(2, random_state=0).fit(np.arange(6.0)[:, None])
    with pytest.raises(ValueError, match=f"^X holds {kind}"):
        fitted.predict(days[:, None])


def test_objects_in_x_are_refused_with_their_column():
    X = pd.DataFrame({"a": np.arange(6.0), "d": [{}] * 6})
    with pytest.raises(TypeError, match="column 'd' of X holds objects"):
        LinearRegression().fit(X, np.arange(6.0))


def test_missing_values_are_told_with_their_column_and_our_estimators():
    X = pd.DataFrame({"a": np.arange(6.0), "b": [1.0, np.nan] * 3})
    for given, column in ((X, "'b'"), (X.to_numpy(), "1")):
        with pytest.raises(ValueError, match="Input X contains NaN") as caught:
            LinearRegression().fit(given, np.arange(6.0))
        text = str(caught.value)
        assert f"in column {column}," in text and "\n" not in text
        assert "pansophy.ensemble.HistGradientBoostingRegressor" in text
    HistGradientBoostingRegressor().fit(X, np.arange(6.0))  # as is said


def test_shapes_and_lengths_are_told_in_a_sentence():
    with pytest.raises(ValueError, match="got 1D array instead") as caught:
        LinearRegression().fit(np.arange(100.0), np.arange(100.0))
    assert "\n" not in str(caught.value) and "fit(X, y)" in str(caught.value)
    with pytest.raises(ValueError, match="X has 3 rows and y has 2"):
        LinearRegression().fit(np.ones((3, 1)), [1.0, 2.0])
    model = LinearRegression().fit(pd.DataFrame({"plan": [1.0, 2.0]}), [1.0, 2.0])
    with pytest.raises(ValueError, match="Did you mean 'plan' for 'plam'"):
        model.predict(pd.DataFrame({"plam": [1.0, 2.0]}))


def test_a_lazy_frame_is_collected():
    polars = pytest.importorskip("polars")
    X = polars.DataFrame({"a": np.arange(6.0)})
    lazy = LinearRegression().fit(X.lazy(), np.arange(6.0))
    assert lazy.coef_ == LinearRegression().fit(X, np.arange(6.0)).coef_


def test_a_name_in_the_wrong_place_is_told_where_it_is():
    with pytest.raises(AttributeError, match=r"is in pansophy.linear_model$") as caught:
        pansophy.LogisticRegression  # noqa: B018
    assert caught.value.name == "LogisticRegression" and caught.value.obj is pansophy
    for package in ("optim", "text", "compare", "rl"):
        module = getattr(pansophy, package)
        with pytest.raises(AttributeError) as caught:
            module.no_such_name  # noqa: B018
        assert caught.value.name == "no_such_name" and caught.value.obj is module
