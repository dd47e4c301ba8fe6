# The picture of examples/larger_than_memory.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(4.5, 3.5))
ax.scatter(*X[:2000].T, s=3, alpha=0.4)
ax.plot(*km.cluster_centers_.T, "X", ms=10, label="centres, read in blocks")
ax.legend()
