# The picture of examples/linear_models.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.2))
fits = {
    "least squares": LinearRegression().fit(X, y),
    "least squares, wild rows": LinearRegression().fit(X, wild),
    "Huber, wild rows": HuberRegressor().fit(X, wild),
    "lasso": LassoCV().fit(X, y),
}
for k, (name, fitted) in enumerate(fits.items()):
    ax.plot(np.arange(5) + 0.12 * k, fitted.coef_, "osD^"[k], label=name)
ax.plot(np.arange(5) + 0.18, [2, 0, 0, -1, 0], "k_", ms=22, label="truth")
ax.set(xlabel="column", ylabel="coefficient")
ax.legend(fontsize=7)
