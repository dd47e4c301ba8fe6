"""Detects rows that are not independent: ordered in time, or several of one group.

Shuffled folds then test on rows whose neighbours or siblings are in the training part,
and scores are better than they will be for later rows or new people. With y the target
(its rank, or whether it is the most frequent class) and n rows, the signs are:

    time    r, the correlation of y with that of the next row in order of a date  (1)
    group   columns that are the same in all rows of one value of a column, or
            a target that is alike in them (`entities`), whatever its name; or a
            column that is named as people and things are (patient, customer, device)
            and comes in several rows each, with the share of the variance of y
            between its values                                                     (2)

Independent rows have r = 0 with standard error 1 / sqrt(n); (1) is reported if r
exceeds `ALIKE` and `SURE` standard errors. Both are *certain* where nobody would doubt
them: arctanh(r), whose error is 1 / sqrt(n - 3), beyond 14 errors along a date with one
row a moment or with the file in its order, an order without a name that is
(`row_order`), and an entity that is (`entities.find_entities`). `find_design` gives
what is certain, and a comparison cuts its folds by it. What is likely is for the user
to say.

Cost      n log n for each date or group
"""

from typing import NamedTuple

import numpy as np
import scipy.stats

from ...tables.roles import CLOCKED
from ..findings import Finding, make_finding
from .entities import FEW_OF_ONE, Entity, entities_by_target, find_entities
from .related_columns import ENTITY, adjusted_correlation_ratio
from .row_order import ROW_ORDER, SerialOrder, is_beyond_doubt, serial_order
from .time_to_event import TimeToEvent, find_time_to_event, time_to_event_findings

ALIKE = 0.3
SURE = 6.0
ONE_A_MOMENT = 0.9  # different moments for each row
FEWEST = 50
MOST = 3  # entities reported
SHARED = 0.1  # of the variance, from which a group is a warning


class TimeOrder(NamedTuple):
    """Serial correlation of the target along a date, eq. (1)."""

    column: str
    correlation: float
    rows: int
    moments: int
    as_filed: bool = False  # whether the file is in its order

    @property
    def certain(self) -> bool:
        return self.beyond_doubt and self.moments >= ONE_A_MOMENT * self.rows

    @property
    def beyond_doubt(self) -> bool:
        return is_beyond_doubt(self.correlation, self.rows)


class RowDesign(NamedTuple):
    """What rows are, beyond one independent case each, as far as that is certain."""

    time: TimeOrder | SerialOrder | None = None
    entity: Entity | None = None
    event: TimeToEvent | None = None  # the target is its status


def find_design(view, targets) -> RowDesign:
    """The order in time and the entity of rows, each where it is certain.

    Parameters
    ----------
    view : TableView
        With the targets.
    targets : list of TargetColumn
    """
    names = {g.name for g in targets}
    inputs = view.without(names)
    event = order = None
    for target in targets:
        event = find_time_to_event(inputs, target)
        if event is not None:
            inputs = inputs.without({event.duration})
        order = _time_order(inputs, _target_scores(target))
        if order is not None and order.certain:
            return RowDesign(time=order, event=event)
    target = targets[0].name if len(targets) == 1 else None
    entities = find_entities(view, target)
    if target is not None:
        y = _target_scores(targets[0])
        entities = entities + entities_by_target(inputs, y, entities)
    certain = [
        e
        for e in entities
        if e.certain and not any(view[name].missing.any() for name in e.columns)
    ]
    if certain:
        return RowDesign(entity=certain[0], event=event)
    if order is not None and order.as_filed and order.beyond_doubt:
        return RowDesign(time=order, event=event)
    order = _unnamed_order(inputs, targets)
    if order is not None and order.certain and targets[0].kind == "number":
        return RowDesign(time=order, event=event)
    return RowDesign(event=event)


def _unnamed_order(view, targets) -> SerialOrder | None:
    """The order of the file, or of a column, along which one target follows itself."""
    if len(targets) != 1:
        return None
    target = targets[0]
    y = _target_scores(target)
    if target.kind == "number":
        y = np.where(np.isnan(y), np.nan, target.y)
    return serial_order(view, y)


def dependent_rows(view, targets, group=None, time=None) -> list[Finding]:
    """Findings about columns that should probably be declared as time or group.

    `view` is without the targets.
    """
    findings = []
    ordered = time is not None
    for target in targets:
        y = _target_scores(target)
        if len(y) - np.isnan(y).sum() < FEWEST:
            continue
        events = list(time_to_event_findings(view, target))
        findings += events
        dated = view.without({f.column for f in events})
        ordered_findings = (
            [] if time else list(_time_order_findings(dated, target.name, y))
        )
        ordered = ordered or bool(ordered_findings)
        findings += ordered_findings
    grouped = group is not None
    if group is None and targets:
        entities = [e for e in find_entities(view) if e.certain or len(e.columns) == 1]
        if len(targets) == 1:
            alike = entities_by_target(view, _target_scores(targets[0]), entities)
            repeated_columns = {e.columns for e in alike}
            entities = [
                e for e in entities if e.columns not in repeated_columns
            ] + alike
        entities.sort(key=lambda e: not e.certain)
        findings += [_entity_finding(e) for e in entities[:MOST]]
        grouped = any(e.certain for e in entities)
        told = {name for e in entities for name in e.columns}
        for target in targets:
            findings += _repeated_groups(
                view.without(told), target.name, _target_scores(target)
            )
    if not (grouped or ordered):
        left = {f.column for f in findings if f.kind == "time to event"}
        order = _unnamed_order(view.without(left), targets)
        if order is not None:
            findings.append(_order_finding(order, targets[0].name))
    return findings


def _order_finding(order, target) -> Finding:
    """Finding for rows in an order that no name tells."""
    order_text = f"in order of {order.column!r}"
    residual_text = ""
    later = f"If that is time, name {order.column!r} as the time"
    if order.column == ROW_ORDER:
        order_text = "in the file"
        residual_text = f", {order.beyond:.2f} of what a line in the columns leaves"
        later = f"If rows are in order of time, name {ROW_ORDER!r} as the time"
    text = (
        f"Rows next to each other {order_text} have like {target!r} (correlation "
        f"{order.correlation:.2f}{residual_text}): folds of shuffled rows test between "
        f"known ones and flatter what comes later. {later}."
    )
    return make_finding(
        "time order",
        "alarm" if order.certain else "warning",
        text,
        column=None if order.column == ROW_ORDER else order.column,
        correlation=order.correlation,
        rows=order.rows,
    )


def _target_scores(target) -> np.ndarray:
    """Ranks of the target, or 1 for the most frequent class; NaN where missing."""
    out = np.full(len(target.y), np.nan)
    known = target.known
    if not target.varies:
        return out
    if target.kind == "number":
        out[known] = scipy.stats.rankdata(target.y[known])
    else:
        out[known] = target.y[known] == np.bincount(target.y[known]).argmax()
    return out


def _time_order(view, y) -> TimeOrder | None:
    """The date along which scores of the target are most alike, eq. (1)."""
    best = None
    for c in view.columns:
        if c.kind != "date" and not (c.kind == "number" and CLOCKED.search(c.name)):
            continue
        known = ~np.isnan(y) & ~c.missing
        moments_of_rows = c.numbers[known]
        n = int(known.sum())
        moments = len(np.unique(moments_of_rows))
        if n < FEWEST or moments < n / 10:
            continue
        z = y[known][np.argsort(moments_of_rows, kind="stable")]
        if np.ptp(z[:-1]) > 0 and np.ptp(z[1:]) > 0:
            r = float(np.corrcoef(z[:-1], z[1:])[0, 1])
            if best is None or r > best.correlation:
                as_filed = bool(np.all(np.diff(moments_of_rows) >= 0))
                best = TimeOrder(c.name, r, n, moments, as_filed)
    if best is None or best.correlation < ALIKE:
        return None
    return best if best.correlation * np.sqrt(best.rows) >= SURE else None


def _time_order_findings(view, target, y):
    """Finding for serial correlation of the target along a date."""
    order = _time_order(view, y)
    if order is None:
        return
    name = order.column
    text = (
        f"Rows next to each other in {name!r} have like {target!r} (correlation "
        f"{order.correlation:.2f}): folds of shuffled rows test between known moments "
        f"and flatter what comes later. Name {name!r} as the time if later rows are to "
        "be predicted."
    )
    yield make_finding(
        "time order",
        "alarm"
        if order.certain or (order.as_filed and order.beyond_doubt)
        else "warning",
        text,
        column=name,
        correlation=order.correlation,
        rows=order.rows,
    )


def _entity_finding(entity) -> Finding:
    """Finding for people or things that come in several rows each."""
    name = ",".join(entity.columns)
    text = (
        f"{entity.comes} in several rows ({entity.rows / entity.count:.1f} for "
        f"each of {entity.count:,}), in which {what_is_alike(entity)}. Name {name!r} "
        "as the group if new rows will be of new ones: folds of shuffled rows test on "
        "known ones."
    )
    has_few_rows = entity.rows <= FEW_OF_ONE * entity.count
    likely = "warning" if entity.share and has_few_rows else "note"
    return make_finding(
        "repeated group",
        "alarm" if entity.certain else likely,
        text,
        column=entity.columns[0],
        columns=entity.columns,
        levels=entity.count,
        determined=entity.determined,
        share=entity.share,
    )


def what_is_alike(entity, most=3) -> str:
    """Clause on what the rows of an entity have in common."""
    clauses = []
    if entity.determined:
        named = ", ".join(repr(name) for name in entity.determined[:most])
        n_others = len(entity.determined) - most
        named += f" and {n_others} more" if n_others > 0 else ""
        verb = "is" if len(entity.determined) == 1 else "are"
        clauses.append(f"{named} {verb} the same")
    if entity.share:
        clauses.append(f"the target is alike (they share {entity.share:.0%} of it)")
    return " and ".join(clauses)


def _repeated_groups(view, target, y):
    """Findings for columns that name people or things with several rows, eq. (2)."""
    for c in view.columns:
        if c.name == target or not ENTITY.search(c.name) or c.kind == "date":
            continue
        z = c.labelled()
        known = ~np.isnan(y) & (z >= 0)
        n = int(known.sum())
        k = len(np.unique(z[known]))
        if n < FEWEST or not 5 <= k <= n / 1.5:
            continue
        share = adjusted_correlation_ratio(np.where(known, z, -1), y) ** 2
        size = f"{n / k:.1f} rows for each of {k}"
        sentence = f"{c.name!r} comes in several rows ({size})"
        severity = "note"
        if share > SHARED:
            severity = "warning"
            sentence += f", which have like {target!r} (they share {share:.0%} of it)"
        text = f"{sentence}. Name it as the group if new rows will be of new ones."
        yield make_finding(
            "repeated group", severity, text, column=c.name, share=share, levels=k
        )
