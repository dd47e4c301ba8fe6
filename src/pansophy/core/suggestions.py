"""Sentences about a name that does not exist, with the nearest one that does.

Nothing heavy is imported: the command line asks before it imports the rest.
"""

import difflib


def nearest_name(name, names) -> str | None:
    """The name that is most like a given one, or None if there is none like it."""
    lower = {n.lower(): n for n in names}
    close = difflib.get_close_matches(str(name).lower(), list(lower), 1, 0.6)
    return lower[close[0]] if close else None


def unknown_column_message(name, names) -> str:
    """Error message for an unknown column, with the nearest name."""
    near = nearest_name(name, names)
    if near is not None:
        return f"There is no column {name!r}; did you mean {near!r}?"
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"There is no column {name!r}; the table has {shown}."
