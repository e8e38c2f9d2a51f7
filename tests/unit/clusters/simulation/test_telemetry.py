"""Utilisation of cards."""

from __future__ import annotations

from clusters.simulation.telemetry import utilisation
from clusters.simulation.world import Plan
from tests.unit.clusters.simulation.lab import START_MS, Lab


def series(lab: Lab, name: str, until_ms: int, step_ms: int = 15_000) -> list[int | None]:
    return [utilisation(1, lab[name], START_MS + at) for at in range(0, until_ms, step_ms)]


def test_nothing_is_known_before_and_after_the_pods_ran() -> None:
    lab = Lab()
    lab.submit("job", command="sleep 100", plan=Plan(pull_ms=10_000))
    lab.pass_ms(200_000)
    values = series(lab, "job", 200_000)
    assert values[0] is None
    assert values[-1] is None
    assert values[5] is not None


def test_training_warms_up_and_then_stays_near_its_mean() -> None:
    lab = Lab()
    lab.submit("job", plan=Plan(pull_ms=0, utilisation=80))
    lab.pass_ms(3_600_000)
    values = [value for value in series(lab, "job", 3_600_000) if value is not None]
    assert values[0] < 40
    assert all(70 <= value <= 90 for value in values[10:])


def test_development_comes_and_goes() -> None:
    lab = Lab()
    lab.submit("job", kind="development")
    lab.pass_ms(4 * 3_600_000)
    values = [value for value in series(lab, "job", 4 * 3_600_000) if value is not None]
    assert min(values[10:]) <= 3
    assert max(values) >= 10


def test_values_are_percent_and_do_not_depend_on_when_they_are_asked() -> None:
    lab = Lab()
    for number, mean in enumerate((0, 1, 99, 100)):
        lab.submit(f"job{number}", cards=1, plan=Plan(utilisation=mean))
    lab.pass_ms(600_000)
    early = [series(lab, f"job{number}", 600_000) for number in range(4)]
    assert all(value is None or 0 <= value <= 100 for values in early for value in values)
    lab.pass_ms(600_000)
    assert [series(lab, f"job{number}", 600_000) for number in range(4)] == early


def test_pods_without_cards_keep_no_card_busy() -> None:
    lab = Lab()
    lab.submit("cpu", group=None, cpu_millis=1_000)
    lab.pass_ms(600_000)
    assert utilisation(1, lab["cpu"], START_MS + 300_000) == 0
