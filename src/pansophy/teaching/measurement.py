"""The risk of a wrong decision caused by measurement error.

A condition T has prevalence q; a measurement says "yes" with probability

    P(+ | T) = sensitivity,    P(+ | not T) = 1 - specificity.                    (1)

What it measures may itself stand for something else, W, that the decision is about: a
symptom for an illness, a correlate for a cause. With P(T | W) = a, P(T | not W) = b,

    P(+ | W) = a P(+ | T) + (1 - a) P(+ | not T), and the same with b,            (2)

and Bayes' rule turns these around: P(W | +) = P(+ | W) P(W) / P(+)               (3).
A decision that follows the measurement is wrong with probability
P(W) P(- | W) + P(not W) P(+ | not W)                                             (4).
"""

from typing import NamedTuple


class MeasurementRisk(NamedTuple):
    """Predictive values of a measurement and the risk of a wrong decision."""

    says_yes: float  # P(+)
    yes_is_right: float  # P(W | +)
    no_is_right: float  # P(not W | -)
    false_alarm: float  # P(+ and not W)
    miss: float  # P(- and W)
    wrong: float  # eq. (4)
    cost: float  # expected cost of the wrong decisions

    def __str__(self):
        return (
            f"A decision by this measurement is wrong in {self.wrong:.2%} of cases "
            f"({self.false_alarm:.2%} false alarms, {self.miss:.2%} misses); a yes is "
            f"right with probability {self.yes_is_right:.4g}, a no with "
            f"{self.no_is_right:.4g}."
        )


def measurement_risk(
    prevalence,
    sensitivity,
    specificity,
    *,
    proxy=(1.0, 0.0),
    cost_false_alarm=1.0,
    cost_miss=1.0,
) -> MeasurementRisk:
    """The risk of wrong decisions due to measurement error, eqs. (2) to (4).

    Parameters
    ----------
    prevalence : float
        P(W), of what the decision is about.
    sensitivity, specificity : float
        Of the measurement, for what it measures.
    proxy : pair of floats
        (a, b) of eq. (2), where what is measured only stands for W.
    cost_false_alarm, cost_miss : float

    Examples
    --------
    >>> from pansophy.teaching import measurement_risk
    >>> risk = measurement_risk(0.01, sensitivity=0.9, specificity=0.95)
    >>> print(f"{risk.yes_is_right:.3f}")
    0.154
    """
    a, b = proxy
    rates = {
        "prevalence": prevalence,
        "sensitivity": sensitivity,
        "specificity": specificity,
        "proxy": a,
        "proxy of the others": b,
    }
    for name, value in rates.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must be a number from 0 to 1, got {value}.")
    yes = lambda share: share * sensitivity + (1 - share) * (1 - specificity)
    hit, alarm = yes(a) * prevalence, yes(b) * (1 - prevalence)
    miss, quiet = prevalence - hit, 1 - prevalence - alarm
    share = lambda part, rest: part / (part + rest) if part + rest else float("nan")
    cost = cost_false_alarm * alarm + cost_miss * miss
    return MeasurementRisk(
        hit + alarm,
        share(hit, alarm),
        share(quiet, miss),
        alarm,
        miss,
        alarm + miss,
        cost,
    )
