# The picture of examples/denoise.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, axes = plt.subplots(1, 4, figsize=(8, 2.3))
shown = {"clean": clean, **{k: pictures[k] for k in ("noisy", "ICM", "graph cut")}}
for ax, (name, picture) in zip(axes, shown.items()):
    ax.imshow(picture, cmap="gray")
    ax.set_title(name)
    ax.axis("off")
