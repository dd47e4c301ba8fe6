"""What was replaced, how often, what was not, and why."""

import sys
from collections import Counter
from dataclasses import dataclass, field

REASON_LENGTH = 160  # characters of a message that a report repeats


@dataclass
class FitCounts:
    """The fits of one accelerated class."""

    ours: int = 0
    original: Counter = field(default_factory=Counter)  # reason -> fits

    @property
    def n_original(self) -> int:
        return sum(self.original.values())


@dataclass(frozen=True)
class AccelerationReport:
    """Fits of this process by class; `str` makes the text that is shown at the end.

    Attributes
    ----------
    fits : dict
        Name of a class -> `FitCounts`: fits by pansophy, and fits by the original with
        the reason of each.
    not_replaced : list of str
        Estimators in the main program that pansophy has no class of the same name for.
    """

    fits: dict[str, FitCounts]
    not_replaced: list[str]

    def __str__(self) -> str:
        n_ours = sum(counts.ours for counts in self.fits.values())
        n_original = sum(counts.n_original for counts in self.fits.values())
        lines = [
            f"pansophy.accelerate: {n_ours} fits by pansophy, "
            f"{n_original} by the original classes."
        ]
        for name, counts in sorted(self.fits.items()):
            lines.append(
                f"  {name}: {counts.ours} by pansophy, {counts.n_original} by the "
                "original"
            )
            lines.extend(
                f"    {n} x {reason}" for reason, n in counts.original.most_common()
            )
        if self.not_replaced:
            lines.append(
                "  Not replaced, as pansophy has no class of this name: "
                + ", ".join(self.not_replaced)
            )
        return "\n".join(lines)


FITS: dict[str, FitCounts] = {}  # of this process


def count_fit_by_ours(name) -> None:
    FITS.setdefault(name, FitCounts()).ours += 1


def count_fit_by_original(name, reason) -> None:
    FITS.setdefault(name, FitCounts()).original[reason] += 1


def reason_of(error) -> str:
    """The first line of an error's message, cut to a readable length."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    text = lines[0]
    return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 3] + "..."


def fit_report() -> AccelerationReport:
    """What was fitted by whom in this process so far.

    Work in other processes, such as those of `n_jobs=2`, is not counted.

    Examples
    --------
    >>> import pansophy
    >>> isinstance(pansophy.accelerate.fit_report().fits, dict)
    True
    """
    return AccelerationReport(dict(FITS), _unreplaced_estimators())


def _unreplaced_estimators() -> list[str]:
    """Estimators of scikit-learn or hmmlearn in the main program that are not ours."""
    base = sys.modules.get("sklearn.base")
    main = sys.modules.get("__main__")
    if base is None or main is None:
        return []
    names = set()
    for value in list(vars(main).values()):
        cls = value if isinstance(value, type) else type(value)
        library = cls.__module__.partition(".")[0]
        if library in ("sklearn", "hmmlearn") and issubclass(cls, base.BaseEstimator):
            names.add(f"{_module_without_private_parts(cls)}.{cls.__name__}")
    return sorted(names - set(FITS))


def _module_without_private_parts(cls) -> str:
    """The module of a class without its private parts."""
    parts = cls.__module__.split(".")
    return ".".join(part for part in parts if not part.startswith("_"))
