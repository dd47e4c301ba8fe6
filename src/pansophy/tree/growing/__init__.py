"""Growing: prepared columns, criteria, searches for a split, the grower itself.

`prepared_columns` and `input_encoding` make the rows ready, `grower` plans and
`_serial_grower` or `_parallel_grower` grow; `_split_search` finds thresholds,
`_category_split` sets, `_quantile_split` medians.
"""
