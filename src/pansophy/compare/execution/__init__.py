"""Every method on the same folds, each fit on its own and within limits.

before    `plan` (the jobs, and what must match to repeat them), `spool` (rows in files)
fits      `fold` (one fit), `worker` (the process that does them); `processes`,
          `workers` and `cluster` hand them out
around    `run` (the engine), `folder` (what stays on disk), `progress` (what is shown)
"""
