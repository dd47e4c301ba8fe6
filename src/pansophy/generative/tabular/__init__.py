"""Generators of tables with mixed columns, and whether they memorise rows."""
