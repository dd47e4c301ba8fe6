# The picture of examples/kriging.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, axes = plt.subplots(1, 2, figsize=(7, 3))
for ax, values, title in zip(axes, (mean, std), ("height", "how unsure")):
    shown = ax.contourf(side, side, values.reshape(21, 21).T, 12)
    ax.plot(*places.T, "k.", ms=2)
    ax.set_title(title)
    fig.colorbar(shown, ax=ax)
