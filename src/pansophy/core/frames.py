"""Data frames of any library."""


def text_column(X):
    """The name of the first column of a data frame that holds words, or None.

    Examples
    --------
    >>> import pandas as pd
    >>> from pansophy.core.frames import text_column
    >>> text_column(pd.DataFrame({"age": [31, 52], "city": ["Pune", "Bern"]}))
    'city'
    """
    if not hasattr(X, "columns"):
        return None
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if frame is X:
        return None
    words = (nw.Categorical, nw.Enum, nw.String)
    for name in frame.columns:
        kind = frame.schema[name]
        if any(kind == word for word in words):
            return name
        if kind == nw.Object and any(isinstance(v, str) for v in frame[name]):
            return name
    return None
