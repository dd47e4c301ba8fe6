"""Learn a hidden Markov model of the weather from what somebody did each day."""

import numpy as np

from pansophy.state_space import CategoricalHMM

rng = np.random.default_rng(1)
move = np.array([[0.9, 0.1], [0.2, 0.8]])  # dry, wet
emit = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])  # walk, shop, clean
days = [0]
for _ in range(1999):
    days.append(rng.choice(2, p=move[days[-1]]))
X = np.array([[rng.choice(3, p=emit[z])] for z in days])

model = CategoricalHMM(2, n_iter=200, tol=1e-4, random_state=0).fit(X)
guess = model.predict(X)
hits = max(np.mean(guess == days), np.mean(guess != days))
print("transitions", model.transmat_.round(2).tolist())
print(f"days whose weather is guessed right: {hits:.0%}")
