"""A page on this machine where a table becomes an answer: `pansophy studio`.

The studio has no state of its own. What it shows is read from the run folders that
`compare`, `forecast`, `explore` and `play` write, and what it does is to start those
very commands in processes of their own, and to ask them to stop. So a page may be
loaded again, opened twice or closed, the studio may be killed, and the terminal may go
on with any run, or begin one.

`server`       the address, the token, the browser
`access`       who is let in: host names, the token, the cookie, the origin of changes
`application`  the pages
`setup_page`   a table before anything runs: columns, questions, target
`run_folders`  what a run folder says: state, leaderboard, files
`processes`    commands of `pansophy` in processes of their own
`answers`      the kept model: its controls, one answer with its reasons, fan charts
`texts`        every text of the pages, in one file a language
"""

import importlib

__all__ = ["run_studio", "studio_application"]
HOMES = {"run_studio": ".server", "studio_application": ".application"}


def __getattr__(name):
    if name in HOMES:
        return getattr(importlib.import_module(HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
