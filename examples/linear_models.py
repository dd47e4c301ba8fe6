"""One table, four questions: how sure, how robust, how simple, how uncertain."""

import numpy as np

from pansophy.feature_selection import SubsetSelector
from pansophy.linear_model import (
    BayesianRidge,
    HuberRegressor,
    LassoCV,
    LinearRegression,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 5))
y = 3 + 2 * X[:, 0] - X[:, 3] + 0.5 * rng.normal(size=120)

# how sure: standard errors, tests and intervals
print(LinearRegression().fit(X, y).summary())

# how robust: a few wild measurements do not move it
wild = y.copy()
wild[:6] += 100
print("slopes with wild rows, least squares", LinearRegression().fit(X, wild).coef_[:1])
print("slopes with wild rows, Huber        ", HuberRegressor().fit(X, wild).coef_[:1])

# how simple: which columns are needed at all
print("lasso keeps", np.flatnonzero(LassoCV().fit(X, y).coef_.round(1)).tolist())
best = SubsetSelector(criterion="bic").fit(X, y)
print("best subset", best.get_support(indices=True).tolist())

# how uncertain: a prediction with its interval
low, high = BayesianRidge().fit(X, y).predict_dist(X[:1]).interval(0.9)
print(f"first row: between {low[0]:.1f} and {high[0]:.1f}, measured {y[0]:.1f}")
