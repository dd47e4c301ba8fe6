"""Time to an event: a status and how long each row was followed.

Of each patient (machine, contract) a table says how long it was followed and whether
the event was seen. A row without the event is not one that never has it: it was only
not followed long enough (it is *censored*). Two things go wrong where such a status is
predicted as a class: the duration, which nobody knows in advance, is taken for an input
and gives the answer away; and rows that were followed briefly count as rows without the
event. A method of survival analysis (Cox regression, a survival forest) uses both
columns as the answer; this library has none, and says so.

A status has two or three values (0 and 1; censored, transplant, dead). A duration is a
column of many positive numbers. That both belong together is told by their names, in
the languages below, or by one name and by the data: where times of rows with the event
and of rows without it differ by more than chance,

    AUC = P(T_a < T_b),   |AUC - 1/2| > 5 sqrt((n_a + n_b + 1) / (12 n_a n_b))       (1)

for a class a and the others b.
"""

import re
from typing import NamedTuple

import numpy as np
import scipy.stats

from ..findings import make_finding

# whole words of names: English, German, French, Spanish, Italian, Portuguese, Dutch
STATUS = re.compile(
    r"(^|[_\W\d])([a-z]{0,4}stat(us)?|event|events|evt|death|dead|died|die|deceased|cens|censor|"
    r"censored|censoring|delta|failure|failed|fail|relapse|relapsed|recur|recurrence|"
    r"progression|survived|alive|vital|tod|tot|gestorben|verstorben|ereignis|zensiert|"
    r"ausfall|statut|mort|deces|décès|evenement|événement|rechute|muerte|muerto|evento|"
    r"estado|recaída|recaida|morte|morto|decesso|óbito|obito|overleden|gebeurtenis)"
    r"($|[_\W\d])",
    re.IGNORECASE,
)
DURATION = re.compile(
    r"(^|[_\W\d])([a-z]{0,4}times?|duration|days?|weeks?|months?|years?|"
    r"followup|follow|fu|fup|stop|tstop|survival|surv|lifetime|ttl|tte|os|pfs|dfs|zeit|"
    r"dauer|tage|wochen|monate|jahre|überlebenszeit|ueberlebenszeit|temps|duree|durée|"
    r"jours|mois|ans|suivi|survie|tiempo|duracion|duración|dias|días|meses|años|"
    r"seguimiento|tempo|durata|giorni|mesi|anni|duração|duracao|tijd|duur|dagen|"
    r"maanden|jaren)($|[_\W\d])",
    re.IGNORECASE,
)
AGES = re.compile(r"(^|[_\W])(age|aged|alter|âge|edad|età|eta|idade|leeftijd)", re.I)
SURE = 5.0  # standard errors
FEWEST = 20
VALUES = 20  # different durations, at least


class TimeToEvent(NamedTuple):
    """A status and the duration that belongs to it."""

    status: str
    duration: str
    auc: float  # the class whose times differ most from those of the others
    certain: bool  # by both names


def find_time_to_event(view, target) -> TimeToEvent | None:
    """The duration that belongs to a target, if the target is a status.

    Parameters
    ----------
    view : TableView
        The other columns.
    target : TargetColumn
    """
    if target.kind != "class" or not 2 <= target.k <= 3 or not target.varies:
        return None
    is_status = bool(STATUS.search(_words_of_name(target.name)))
    best = None
    for c in view.columns:
        if not _is_duration(c) or c.name == target.name:
            continue
        named = bool(DURATION.search(_words_of_name(c.name))) and not AGES.search(
            c.name
        )
        if not named:
            continue
        auc, sure = _auc_of_times(c, target)
        if not (is_status or sure):
            continue
        candidate = TimeToEvent(target.name, c.name, auc, is_status)
        if best is None or abs(auc - 0.5) > abs(best.auc - 0.5):
            best = candidate
    return best


def _words_of_name(name) -> str:
    """A name with blanks between its words: `futimeDays` as `futime Days`."""
    return re.sub(r"(?<=[a-zà-ÿ])(?=[A-Z])", " ", name)


def _is_duration(c) -> bool:
    """Whether a column holds many positive numbers."""
    if c.kind != "number":
        return False
    x = c.numbers[~c.missing]
    has_enough = len(x) >= FEWEST and len(np.unique(x)) >= min(VALUES, len(x) / 3)
    return bool(has_enough and x.min() >= 0)


def _auc_of_times(c, target) -> tuple[float, bool]:
    """Eq. (1): the AUC of the class that differs most, and if that is beyond chance."""
    known = target.known & ~c.missing
    t, y = c.numbers[known], target.y[known]
    ranks = scipy.stats.rankdata(t)
    best = 0.5
    sure = False
    for k in range(target.k):
        a = int((y == k).sum())
        b = len(y) - a
        if a < 5 or b < 5:
            continue
        auc = 1 - (ranks[y == k].sum() - a * (a + 1) / 2) / (a * b)
        error = np.sqrt((a + b + 1) / (12 * a * b))
        if abs(auc - 0.5) > abs(best - 0.5):
            best = float(auc)
            sure = bool(abs(auc - 0.5) > SURE * error)
    return best, sure


def time_to_event_findings(view, target):
    """Finding for a target that is the status of a time to an event."""
    pair = find_time_to_event(view, target)
    if pair is None:
        return
    text = (
        f"{pair.status!r} and {pair.duration!r} look like time to an event: a row "
        "without the event was only not followed for longer (it is censored), and "
        f"nobody knows {pair.duration!r} when predicting. Leave it out, and read the "
        "answer as that for rows followed as long as these; a survival model "
        "(lifelines, scikit-survival), which uses both, is not among the methods here."
    )
    if not pair.certain:
        text = (
            f"{pair.duration!r} may be how long {pair.status!r} was waited for: rows "
            "differ in it by their answer. If so it is not known when predicting, and "
            "rows without the event were only not followed for longer."
        )
    yield make_finding(
        "time to event",
        "alarm" if pair.certain else "note",
        text,
        column=pair.duration,
        status=pair.status,
        auc=pair.auc,
    )
