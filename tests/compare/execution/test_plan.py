"""The plan: which jobs come first."""

from pansophy.compare.execution.plan import FailureKind, FitOutcome, JobQueue


def test_jobs_are_taken_cheap_methods_first_and_known_folds_first():
    jobs = JobQueue(2, 4)
    assert jobs.take() == (0, 0) and jobs.take({2, 3}) == (0, 2)
    jobs.close(FitOutcome(0, 2, failure="no", kind=FailureKind.ERROR))
    assert jobs.left[0] == {1}  # earlier folds still tell which one fails first
    assert jobs.is_needed(0, 1) and not jobs.is_needed(0, 3)
    assert jobs.take({7}) == (0, 1) and jobs.take() == (1, 0)
    jobs.put_back(1, 0)
    assert jobs.take() == (1, 0) and jobs
    jobs.drop(1)
    assert not jobs and jobs.take() is None


def test_a_fit_beyond_the_end_is_left_for_later():
    jobs = JobQueue(1, 4)
    assert [jobs.take() for _ in range(4)] == [(0, f) for f in range(4)]
    jobs.set_gate(0, 2, 2)
    assert jobs.accepts(FitOutcome(0, 1)) and not jobs.accepts(FitOutcome(0, 3))
    jobs.put_back(0, 2)  # its worker was killed
    assert not jobs and jobs.take() is None
    jobs.set_gate(0, 4, 4)
    assert jobs.count() == 2 and jobs.take() == (0, 2) and jobs.take() == (0, 3)
    jobs.close(FitOutcome(0, 2, failure="no", kind=FailureKind.ERROR))
    assert not jobs.accepts(FitOutcome(0, 3)) and not jobs
