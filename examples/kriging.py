"""Kriging of a map: heights between 200 measured places, and how sure they are."""

import numpy as np

from pansophy.gaussian_process import GaussianProcessRegressor

rng = np.random.default_rng(0)


def height(p):
    """A valley between two hills, in metres; places in kilometres."""
    hills = [(2.0, 3.0, 120.0), (7.0, 6.5, 180.0)]
    return sum(h * np.exp(-((p - c) ** 2).sum(axis=1) / 4) for *c, h in hills)


places = rng.uniform(0, 10, (200, 2))
measured = height(places) + 3 * rng.normal(size=200)
model = GaussianProcessRegressor("auto", normalize_y=True).fit(places, measured)

side = np.linspace(0, 10, 21)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
mean, std = model.predict(grid, return_std=True, noise=False)
top = grid[np.argmax(mean)]
print(f"highest place ({top[0]:.1f}, {top[1]:.1f}), {mean.max():.0f} m")
print(f"error {np.sqrt(np.mean((mean - height(grid)) ** 2)):.1f} m, the model expects "
      f"{np.sqrt(np.mean(std**2)):.1f} m")  # fmt: skip
unsure = grid[np.argmax(std)]
print(f"measure next at ({unsure[0]:.1f}, {unsure[1]:.1f})")

check = model.leave_one_out()
z = (measured - check.mean) / check.std
print(f"left out one by one, {np.mean(np.abs(z) < 1.96):.0%} are within 95 %")

rows = [" ".join(f"{v:4.0f}" for v in line[::4]) for line in mean.reshape(21, 21)[::4]]
print("\n".join(rows))
