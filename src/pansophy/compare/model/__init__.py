"""The model that a comparison leaves, and what is done with it.

`model` answers for new tables and holds a `reference` of its training rows, `explain`
says why, `refit` fits it on tables larger than memory; `answer`, `streaming` and
`sinks` turn predictions into columns and into files of any size.
"""
