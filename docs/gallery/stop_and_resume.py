# The picture of examples/stop_and_resume.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(4.5, 3.4))
ax.scatter(*X.T, c=model.predict(X), s=4, cmap="viridis")
ax.plot(*model.means_.T, "kX", ms=9)
