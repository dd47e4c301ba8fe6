"""Methods that are left out: every reason has a kind."""

from pansophy.compare.methods.excluded import SkipKind
from pansophy.compare.methods.method_choice import choose_methods
from tests.compare.methods.problems import problem


def test_every_skip_has_a_kind():
    _, left = choose_methods(problem("regression")[0], 100, ["ridge"])
    kinds = {skip.name: skip.kind for skip in left}
    assert kinds["lasso"] is SkipKind.NOT_REQUESTED
    assert kinds["BaggingRegressor"] is SkipKind.NOT_REQUESTED
    assert kinds["QuantileRegressor"] is SkipKind.UNSUITED
    assert kinds["LogisticRegressionCV"] is SkipKind.UNSUITED
    assert kinds["IsolationForest"] is kinds["pansophy.cluster"] is SkipKind.OTHER_TASK
    _, left = choose_methods(problem("regression")[0], 30_000)
    kinds = {skip.name: skip.kind for skip in left}
    assert kinds["Gaussian process"] is SkipKind.OVER_LIMITS
    assert kinds["RBF support vectors"] is SkipKind.OVER_LIMITS
