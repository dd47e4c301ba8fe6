# The picture of examples/frozen_lake.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, axes = plt.subplots(1, 2, figsize=(6, 2.8))
tables = {"exact": exact.V, "learned": agent.Q_.max(axis=1)}
for ax, (name, values) in zip(axes, tables.items()):
    values = np.asarray(values)[:16].reshape(4, 4)
    ax.imshow(values, cmap="Blues", vmin=0, vmax=1)
    for (i, j), v in np.ndenumerate(values):
        ax.text(j, i, f"{v:.2f}", ha="center", va="center", fontsize=8)
    ax.set_title(name)
    ax.axis("off")
