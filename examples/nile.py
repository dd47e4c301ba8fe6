"""The flow of the Nile: a level that walks, a gap that is filled, years to come."""

import numpy as np

from pansophy.state_space import KalmanFilter, StructuralTimeSeries

# annual flow at Aswan in 10^8 cubic metres, 1871 to 1970
# fmt: off
flow = np.array([
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994,
    1020, 960, 1180, 799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100,
    774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824,
    702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
    781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040,
    860, 874, 848, 890, 744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906,
    901, 1170, 912, 746, 919, 718, 714, 740,
], dtype=float)
# fmt: on

model = StructuralTimeSeries().fit(flow)
variances = {name: round(float(v[0]), 1) for name, v in model.variances_.items()}
print("variances", variances)
print(f"log-likelihood {model.log_likelihood_:.4f}")

level = model.components(flow)["level"]
fall = level.mean[25, 0] - level.mean[30, 0]
print(f"the level fell by {fall:.0f} around 1899, when the dam was built")

ahead = model.forecast(5, level=0.9)
low, high = ahead.low[-1, 0], ahead.high[-1, 0]
print(f"1975: {ahead.mean[-1, 0]:.0f}, with 90% between {low:.0f} and {high:.0f}")

gap = flow.copy()
gap[20:40] = np.nan
walk = KalmanFilter(
    transition_covariance=variances["level"],
    observation_covariance=variances["irregular"],
    start="diffuse",
)
means, covs = walk.smooth(gap)
error = np.abs(means[20:40, 0] - flow[20:40]).mean()
widest = np.sqrt(covs[:, 0, 0].max())
print(f"20 missing years: mean error {error:.0f}, widest deviation {widest:.0f}")
