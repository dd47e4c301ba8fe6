"""Every method on the same folds, each fit in a worker process and within limits.

before    `plan` (the jobs, and what must match to repeat them), `shared_store` (the
          rows in files that workers map into memory)
fits      `fit_fold` (one fit), `worker_process` (the process that does them);
          `process_handles`, `worker_pool` and `dask_cluster` hand them out
around    `trials` (the engine), `blend_trial`, `run_folder` (what is on disk),
          `progress` (what is shown)
"""
