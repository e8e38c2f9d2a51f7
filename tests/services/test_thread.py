"""One thin thread through everything: submit, queue, start whole, run, finish."""

from __future__ import annotations

from jobs.models import Attempt, Run
from tests.cast import Cast
from tests.stage import Stage


def test_a_submitted_job_runs_to_its_end(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 30; exit 0")
        assert (job.state, job.reason_code) == ("queued", "submitted")
        seen = []
        for _ in range(60):
            stage.run(2)
            state = stage.job(job).state
            if not seen or seen[-1] != state:
                seen.append(state)
            if state == "succeeded":
                break
        assert seen[-3:] == ["creating", "running", "succeeded"]
        stage.run(20)
        attempt = Attempt.objects.get(job=job)
        run = Run.objects.get(attempt=attempt)
        assert attempt.end == "succeeded"
        assert (run.ended_at - run.started_at).total_seconds() == 30
        assert run.nodes == sorted(run.nodes) and len(run.nodes) == 1
        assert attempt.released_at is not None
