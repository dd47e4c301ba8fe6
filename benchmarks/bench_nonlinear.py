"""Extended, unscented and particle filters against filterpy and a plain NumPy loop.

A target moves in the plane and is seen by its distance and its direction.
"""

import numpy as np

from .runner import Case

DT = 0.1
F = np.array([[1, DT, 0, 0], [0, 1, 0, 0], [0, 0, 1, DT], [0, 0, 0, 1.0]])
START, Q, R = np.array([10.0, 1.0, 10.0, 0.5]), 0.01, np.array([0.1, 0.001])
GIVEN = {
    "initial_state_mean": START,
    "transition_covariance": Q,
    "observation_covariance": R,
}


def move(z):
    return F @ z


def see(z):
    return np.array([np.hypot(z[0], z[2]), np.arctan2(z[2], z[0])])


def slope(z):
    r = np.hypot(z[0], z[2])
    along, across = [z[0] / r, 0, z[2] / r, 0], [-z[2] / r**2, 0, z[0] / r**2, 0]
    return np.array([along, across])


def data(size):
    from pansophy.state_space import UnscentedKalmanFilter

    return UnscentedKalmanFilter(move, see, **GIVEN).sample(size[0], random_state=0)


def extended_ours(payload):
    from pansophy.state_space import ExtendedKalmanFilter

    how = {"transition_jacobian": lambda z: F, "observe_jacobian": slope}
    return ExtendedKalmanFilter(move, see, **GIVEN, **how).filter(payload[1]).means


def unscented_ours(payload):
    from pansophy.state_space import UnscentedKalmanFilter

    return UnscentedKalmanFilter(move, see, **GIVEN).filter(payload[1]).means


def prepared(model):
    model.x, model.P, model.Q, model.R = (
        START.copy(),
        np.eye(4),
        Q * np.eye(4),
        np.diag(R),
    )
    return model


def extended_filterpy(payload):
    from filterpy.kalman import ExtendedKalmanFilter

    model, out = prepared(ExtendedKalmanFilter(4, 2)), []
    model.F = F
    for t, x in enumerate(payload[1]):
        if t:
            model.predict()
        model.update(x, slope, see)
        out.append(model.x.copy())
    return np.array(out)


def unscented_filterpy(payload):
    from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter

    points = MerweScaledSigmaPoints(4, 1.0, 0.0, 0.0)
    model = UnscentedKalmanFilter(4, 2, DT, see, lambda z, dt: F @ z, points)
    prepared(model)
    model.sigmas_f, out = points.sigma_points(model.x, model.P), []
    for t, x in enumerate(payload[1]):
        if t:
            model.predict()
        model.update(x)
        out.append(model.x.copy())
    return np.array(out)


def log_seen(x, z, t):
    e = x[0] - np.hypot(z[:, 0], z[:, 2]), x[1] - np.arctan2(z[:, 2], z[:, 0])
    return -0.5 * (e[0] ** 2 / R[0] + e[1] ** 2 / R[1])


def particles_ours(payload, m=2000, seed=0):
    from pansophy.state_space import ParticleFilter

    model = ParticleFilter(
        lambda rng, z, t: z @ F.T + 0.1 * rng.standard_normal(z.shape),
        log_seen,
        lambda rng, m: START + rng.standard_normal((m, 4)),
        n_particles=m,
        threshold=1.0,
        random_state=seed,
    )
    return model.filter(payload[1]).means


def particles_numpy(payload, m=2000, seed=0):
    from filterpy.monte_carlo import systematic_resample

    rng, out = np.random.default_rng(seed), []
    z = START + rng.standard_normal((m, 4))
    for t, x in enumerate(payload[1]):
        if t:
            z = z @ F.T + 0.1 * rng.standard_normal(z.shape)
        log_w = log_seen(x, z, t)
        w = np.exp(log_w - log_w.max())
        w /= w.sum()
        out.append(w @ z)
        z = z[systematic_resample(w)]
    return np.array(out)


def error(payload, means):
    """Root mean square distance from the true place."""
    e = means[:, [0, 2]] - payload[0][:, [0, 2]]
    return float(np.sqrt((e**2).sum(axis=1).mean()))


SIZES = [(500,), (2000,), (8000,)]
CASES = [
    Case(
        name="kalman_extended",
        what="distance and direction of a target, 4 states, 8000 steps",
        sizes=SIZES,
        data=data,
        ours=extended_ours,
        peers={"filterpy": extended_filterpy},
        quality=error,
        tolerance=1e-6,
        target=1.0,
    ),
    Case(
        name="kalman_unscented",
        what="distance and direction of a target, 4 states, 8000 steps",
        sizes=SIZES,
        data=data,
        ours=unscented_ours,
        peers={"filterpy": unscented_filterpy},
        quality=error,
        tolerance=1e-3,
        target=1.0,
    ),
    Case(
        name="particle_filter",
        what="the same target by 2000 particles, 2000 steps",
        sizes=[(100,), (500,), (2000,)],
        data=data,
        ours=particles_ours,
        peers={"numpy_filterpy": particles_numpy},
        written=("numpy_filterpy",),
        quality=error,
        tolerance=0.05,
        target=1.0,
    ),
]
