"""The preparation of mixed tables as ONNX operators.

Each used column of the table is an input of its own: numbers, ordinary ones and angles,
as float64 (missing: NaN), dates as seconds since 1970, categories and ordinals as texts
(missing: the empty text). What follows is `tables.Preparation.transform`, block by
block, with the date parts of `tables.date_features`.
"""

import numpy as np

from ..tables import date_features
from .onnx_graph import ExportError

EPOCH_SHIFT = 719_468  # days from 1 March of the year 0 to 1970
ERA = 146_097  # days of 400 years
MOST_LOOKED_UP = 1000  # values of a sine that a graph holds
UNKNOWN = "\x00unknown"  # a text that is no level


def _is_text_input(column) -> bool:
    """Whether the values of a column are given as texts."""
    return column.role in ("category", "ordinal")


def frame_inputs(graph, columns) -> list[str]:
    """The columns of the frame, (n, 1) each: numbers, codes, seconds."""
    results = []
    for column in columns:
        if column.role == "text":
            raise ExportError(
                f"Column {column.name!r} holds texts, whose preparation is not "
                "exported: leave it out of the comparison, or serve the model."
            )
        name = graph.input(column.name, 1, text=_is_text_input(column))
        results.append(
            _level_codes(graph, column, name) if _is_text_input(column) else name
        )
    return results


def _level_codes(graph, column, name) -> str:
    """Positions of levels; -1 for an unknown level and NaN for a missing value."""
    from onnx import helper, numpy_helper

    levels = [str(level) for level in column.levels]
    codes = [float(i) for i in range(len(levels))]
    if "" not in levels:
        levels.append("")
        codes.append(np.nan)
    return graph.node(
        "LabelEncoder",
        name,
        domain="ai.onnx.ml",
        keys_tensor=helper.make_tensor(
            "keys", 8, [len(levels)], [level.encode() for level in levels]
        ),
        values_tensor=numpy_helper.from_array(np.array(codes)),
        default_tensor=numpy_helper.from_array(np.array([-1.0])),
    )


def rows_as_inputs(frame, columns) -> dict[str, np.ndarray]:
    """What the inputs get for the rows of a frame."""
    results = {}
    for values, column in zip(frame.values.T, columns, strict=True):
        if not _is_text_input(column):
            results[column.name] = values[:, None]
            continue
        names = np.array([*map(str, column.levels), UNKNOWN, ""], dtype=object)
        unknown, missing = len(names) - 2, len(names) - 1
        code = np.where(values < 0, unknown, values)
        positions = np.where(np.isnan(values), missing, code).astype(int)
        results[column.name] = names[positions][:, None]
    return results


def prepared_matrix(graph, prepare, values) -> str:
    """The matrix that a fitted `Preparation` makes of the columns of a frame."""
    dense = prepare.dense_
    parts = []
    if prepare.native:
        if len(prepare.one_hot_.where):
            block = prepare.one_hot_
            parts += [
                graph.take(graph.constant(table), slots)
                for table, slots in _column_tables(graph, block, block.hit, values)
            ]
        parts += _dense_columns(graph, dense, values, plain=True)
        return graph.side_by_side(parts)
    (a, b, c, d) = prepare.edges_
    if a:
        x = graph.side_by_side(_dense_columns(graph, dense, values, plain=False))
        x = graph.where(graph.node("IsNaN", x), dense.fill[None], x)
        if prepare.scale:
            x = graph.subtract(x, dense.shift[None])
            x = graph.multiply(x, dense.scale[None])
        parts.append(x)
    if b > a:
        gaps = graph.side_by_side([values[j] for j in dense.gap])
        parts.append(graph.cast(graph.node("IsNaN", gaps), "double"))
    if c > b:
        parts.append(_one_hot_columns(graph, prepare.one_hot_, c - b, values))
    if d > c:
        block = prepare.means_
        means = [
            graph.node(
                "Squeeze",
                graph.take(graph.constant(table), slots),
                _axis_of_columns(graph),
            )
            for table, slots in _column_tables(graph, block, block.table, values)
        ]
        x = graph.side_by_side(means)
        if prepare.scale:
            x = graph.subtract(x, prepare.mean_shift_[None])
            x = graph.divide(x, prepare.mean_scale_[None])
        parts.append(x)
    return graph.side_by_side(parts)


def _axis_of_columns(graph):
    return graph.constant([1], np.int64)


def _column_tables(graph, block, table, values):
    """For each column of codes, the part of a table by slot, and the slots (n, 1)."""
    for column, start, gone in zip(block.where, block.start, block.gone):
        code = values[column]
        slot = graph.where(
            graph.node("IsNaN", code), [[float(gone)]], graph.add(code, [[1.0]])
        )
        part = np.asarray(table[start : start + gone + 1], dtype=float)
        yield part, graph.cast(slot, "int64")


def _one_hot_columns(graph, block, width, values) -> str:
    """Sums of rows of tables that have a one in the place of the level."""
    rows = []
    places = np.asarray(block.place, dtype=float)
    for (hit, slots), (place, _) in zip(
        _column_tables(graph, block, block.hit, values),
        _column_tables(graph, block, places, values),
        strict=True,
    ):
        table = np.zeros((len(hit), width))
        table[np.arange(len(hit)), place.astype(int)] = hit
        looked_up = graph.take(graph.constant(table), slots)
        rows.append(graph.node("Squeeze", looked_up, _axis_of_columns(graph)))
    return graph.total(rows)


def _dense_columns(graph, dense, values, *, plain) -> list[str]:
    """Numbers, parts of dates, and sines and cosines of angles, as columns."""
    results = []
    for j, is_ordinal in zip(dense.number, dense.ordinal):
        x = values[j]
        if is_ordinal:
            is_unknown = graph.node("Less", x, graph.constant([[0.0]]))
            x = graph.where(is_unknown, [[np.nan]], x)
        results.append(x)
    if len(dense.part):
        results += _date_columns(graph, dense, values, plain)
    angles = list(zip([values[j] for j in dense.angle], dense.period, strict=True))
    for function in (np.sin, np.cos):
        results += [_on_circle(graph, x, period, function) for x, period in angles]
    return results


def _on_circle(graph, x, period, function) -> str:
    """The sine or cosine of 2 pi x / period.

    Whole numbers are looked up: NumPy's sine of pi is 1.2e-16 and not 0, trees may
    split there, and no other sine has the same last bit.
    """
    operator = {np.sin: "Sin", np.cos: "Cos"}[function]
    results = graph.node(operator, graph.multiply(x, [[2 * np.pi / period]]))
    if period != int(period) or period > MOST_LOOKED_UP:
        return results
    table = function(np.arange(int(period) + 1.0) * (2 * np.pi / period))[:, None]
    place = graph.node("Floor", graph.clip(x, 0.0, float(period)))
    is_whole = graph.node("Equal", place, x)
    place = graph.cast(graph.where(is_whole, place, [[0.0]]), "int64")
    looked_up = graph.node(
        "Squeeze", graph.take(graph.constant(table), place), _axis_of_columns(graph)
    )
    return graph.where(is_whole, looked_up, results)


def _date_columns(graph, dense, values, plain) -> list[str]:
    """The kept parts of the dates, in the order of `date_features.date_parts`."""
    n = len(dense.date)
    parts = [calendar_parts(graph, values[j]) for j in dense.date]
    part_names: dict[int, str] = {}

    def part(index):
        kind, j = divmod(int(index), n)
        if plain:
            return parts[j][date_features.PLAIN[kind]]
        name = date_features.CIRCLES[kind]
        if name in ("elapsed", "year"):
            return parts[j][name]
        unit, shape = name.split()
        period = {"month": 12.0, "weekday": 7.0, "hour": 24.0}[unit]
        function = np.sin if shape == "sin" else np.cos
        return _on_circle(graph, parts[j][unit], period, function)

    for index in dense.part:
        part_names[int(index)] = part(index)
    return [part_names[int(index)] for index in dense.part]


def calendar_parts(graph, seconds) -> dict[str, str]:
    """Days since 1970, year, month (0-11), weekday and hour of a column of seconds.

    Days are counted from 1 March of the year 0 in eras of 400 years, in which leap days
    come last; all is exact in float64.
    """
    g = graph
    days = g.floor_divide(seconds, [[date_features.DAY]])
    z = g.add(days, [[float(EPOCH_SHIFT)]])
    era = g.floor_divide(z, [[float(ERA)]])
    of_era = g.subtract(z, g.multiply(era, [[float(ERA)]]))
    leap = g.subtract(
        g.add(of_era, g.floor_divide(of_era, [[36_524.0]])),
        g.add(
            g.floor_divide(of_era, [[1_460.0]]), g.floor_divide(of_era, [[146_096.0]])
        ),
    )
    year_of_era = g.floor_divide(leap, [[365.0]])
    days_before = g.subtract(
        g.add(g.multiply(year_of_era, [[365.0]]), g.floor_divide(year_of_era, [[4.0]])),
        g.floor_divide(year_of_era, [[100.0]]),
    )
    of_year = g.subtract(of_era, days_before)
    fifths = g.add(g.multiply(of_year, [[5.0]]), [[2.0]])
    march_month = g.floor_divide(fifths, [[153.0]])  # 0 is March
    is_late = g.node("Less", march_month, g.constant([[10.0]]))
    month = g.where(
        is_late, g.add(march_month, [[2.0]]), g.subtract(march_month, [[10.0]])
    )
    next_year = g.subtract([[1.0]], g.cast(is_late, "double"))
    year = g.add(g.add(year_of_era, g.multiply(era, [[400.0]])), next_year)
    week = g.add(days, [[3.0]])
    weekday = g.subtract(week, g.multiply(g.floor_divide(week, [[7.0]]), [[7.0]]))
    of_day = g.subtract(seconds, g.multiply(days, [[date_features.DAY]]))
    gone = g.node("IsNaN", seconds)
    missing = lambda x: g.where(gone, [[np.nan]], x)
    return {
        "elapsed": g.divide(seconds, [[date_features.DAY]]),
        "year": missing(year),
        "month": missing(month),
        "weekday": weekday,
        "hour": g.divide(of_day, [[3600.0]]),
    }
