"""Names, gaps and angles in one table: a tree to read, a forest, a booster, and why."""

import numpy as np

from pansophy.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from pansophy.tree import DecisionTreeClassifier, export_text, shap_values

rng = np.random.default_rng(0)
n = 2000
towns = np.array(["Bath", "Derby", "Leeds", "York"])
town = rng.integers(0, 4, n)
hour = rng.uniform(0, 24, n)
income = rng.gamma(4.0, 10.0, n)
night = np.cos(2 * np.pi * (hour - 1) / 24)  # around one in the morning
rate = 1.5 * night + 1.2 * np.isin(town, [1, 3]) + 0.03 * (income - 40)
late = rng.uniform(size=n) < 1 / (1 + np.exp(-rate))
income[rng.uniform(size=n) < 0.1] = np.nan  # not everyone tells
names = ["town", "hour", "income"]

# a tree that can be read: a set of towns, an arc of the clock, gaps where they belong
X = np.column_stack([town, hour, income])
tree = DecisionTreeClassifier(
    max_leaf_nodes=5, categorical_features=[0], directional_features={1: 24.0}
).fit(X, late)
print(export_text(tree, feature_names=names))

# a booster: the same columns, an earlier stop decided by rows of the user's own
head, tail = slice(0, 1500), slice(1500, n)
booster = HistGradientBoostingClassifier(categorical_features=[0], early_stopping=True)
booster.fit(X[head], late[head], X_val=X[tail], y_val=late[tail])
print(f"{booster.n_iter_} rounds, accuracy {booster.score(X[tail], late[tail]):.3f}")

# why: each answer shared out between the columns
print(shap_values(booster, X[tail]))  # x0 is the town

# a forest that says how sure it is
forest = RandomForestRegressor(oob_score=True, keep_targets=True, random_state=0)
forest.fit(X[:, 1:], rate)
low, middle, high = forest.predict_quantiles(X[:1, 1:], [0.05, 0.5, 0.95])[0]
print(
    f"out-of-bag R2 {forest.oob_score_:.3f}; {low:.2f} to {high:.2f}, was {rate[0]:.2f}"
)
