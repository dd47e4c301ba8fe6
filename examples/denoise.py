"""Clean a noisy picture of two colours with an Ising grid, in four ways.

Every pixel was flipped with probability 0.2. Neighbours tend to agree, and a pixel
tends to be what is seen: an Ising grid with a coupling and the logarithm of the odds of
the noise as its field. The graph cut has the lowest energy of all pictures.
"""

import numpy as np

from pansophy.graphical import IsingGrid

side = 128
i, j = np.indices((side, side)) / side - 0.5
clean = np.where((np.hypot(i, j) < 0.35) ^ (np.abs(i + j) < 0.12), 1, -1)
rng = np.random.default_rng(0)
noisy = clean * np.where(rng.random(clean.shape) < 0.2, -1, 1)

grid = IsingGrid(clean.shape, coupling=0.8, field=0.5 * np.log(0.8 / 0.2) * noisy)
often = grid.marginals("gibbs", n_samples=300, random_state=0) > 0.5
pictures = {
    "noisy": noisy,
    "ICM": grid.icm(),
    "Gibbs": np.where(often, 1, -1),
    "annealing": grid.anneal(random_state=0),
    "graph cut": grid.map(),
}
for name, picture in pictures.items():
    wrong = np.mean(picture != clean)
    print(f"{name:10} energy {grid.energy(picture):10.1f}   wrong {wrong:.2%}")

lowest = min(pictures, key=lambda name: grid.energy(pictures[name]))
print(f"lowest energy: {lowest}")
