"""Carbon dioxide at Mauna Loa: trend, seasons and the rest by a Gaussian process."""

import numpy as np
from statsmodels.datasets import co2

from pansophy.gaussian_process import GaussianProcessRegressor
from pansophy.kernels import RBF, Periodic, RationalQuadratic, White

weekly = co2.load().data["co2"].dropna()
months = weekly["1985":].resample("MS").mean().dropna()
year = (months.index.year + (months.index.month - 0.5) / 12).to_numpy()[:, None]
ppm = months.to_numpy()

trend = 10.0 * RBF(40.0)
season = 0.2 * RBF(60.0) * Periodic(1.3, 1.0).fixed("period")
wobble = 0.02 * RationalQuadratic(1.0, 1.0)
kernel = trend + season + wobble + White(0.002)

seen = year[:, 0] < 1999
model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
model.fit(year[seen], ppm[seen])
print(f"log likelihood {model.log_marginal_likelihood_value_:.1f}")

mean, std = model.predict(year[~seen], return_std=True)
inside = np.mean(np.abs(ppm[~seen] - mean) < 1.96 * std)
error = np.sqrt(np.mean((ppm[~seen] - mean) ** 2))
print(f"1999 to 2001, not seen: error {error:.2f} ppm, {inside:.0%} within 95 %")

# the sum is ((trend + season) + wobble) + noise
trend_, season_ = model.kernel_.left.left.left, model.kernel_.left.left.right
swing = model.predict_component(year[seen], season_)
rise = model.predict_component(year[seen], trend_)
print(f"the seasons swing by {np.ptp(swing):.1f} ppm")
print(f"the trend rises by {(rise[-1] - rise[0]) / np.ptp(year[seen]):.2f} ppm a year")
