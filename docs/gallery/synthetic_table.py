# The picture of examples/synthetic_table.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

name = numbers[0]
fig, ax = plt.subplots(figsize=(6, 3))
real, made = X_train[name].dropna(), synthetic[name].dropna()
edges = np.histogram_bin_edges(np.r_[real, made], 25)
ax.hist(real, edges, density=True, alpha=0.6, label="real")
ax.hist(made, edges, density=True, alpha=0.6, label="synthetic")
ax.set(xlabel=name, ylabel="density")
ax.legend()
