# The picture of examples/carbon_dioxide.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.2))
ax.plot(year[:, 0], ppm, ".", ms=2.5, label="measured")
new = year[~seen, 0]
ax.plot(new, mean, label="predicted")
ax.fill_between(new, mean - 1.96 * std, mean + 1.96 * std, alpha=0.3)
ax.set(ylabel="CO$_2$, ppm")
ax.legend()
