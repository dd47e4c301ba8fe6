"""Find calm and stormy regimes in a series of daily returns, and how many there are."""

import numpy as np

from pansophy.state_space import GaussianHMM, choose_states

rng = np.random.default_rng(3)
stay = np.array([[0.99, 0.01], [0.03, 0.97]])  # calm, stormy
z = [0]
for _ in range(999):
    z.append(rng.choice(2, p=stay[z[-1]]))
z = np.array(z)
returns = np.where(z == 0, 0.05, -0.1) + rng.normal(size=1000) * np.where(z, 2.0, 0.6)

base = GaussianHMM(n_iter=200, tol=1e-3, random_state=0)
choice = choose_states(base, returns, n_components=[1, 2, 3])
print(choice)

model = choice.model
order = np.argsort(model.covars_[:, 0, 0])  # calm first
found = np.argsort(order)[model.predict(returns)]
spread = np.sqrt(model.covars_[order, 0, 0])
print(f"regimes by BIC: {choice.n_components}, spreads {spread.round(2).tolist()}")
print(f"days whose regime is found: {np.mean(found == z):.0%}")

gaps = returns.copy()
gaps[rng.random(1000) < 0.2] = np.nan
found = np.argsort(order)[model.predict(gaps)]
print(f"with a fifth of the days missing: {np.mean(found == z):.0%}")

# from pansophy import plot; plot.regimes(found, model.predict_proba(returns)[:, order],
#                                         np.cumsum(returns), names=["calm", "stormy"])
