"""Faults of a table: `explore` looks at everything, each other module at one thing."""
