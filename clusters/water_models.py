"""The water level over time: one row per group and minute, and what hours and days made of them.

Samples and hours lie in parts by month (`common.partitions`); days are kept for ever. Their key to a group is not
checked by the database, because dropping a part would otherwise lock the table of groups.
"""

from __future__ import annotations

from django.db import models

from clusters.domain.water import FIGURES


def _group() -> models.ForeignKey[models.Model, models.Model]:
    return models.ForeignKey(
        "clusters.NodeGroup", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )


class WaterSample(models.Model):
    """The level of one group at one minute, in the group's unit. It stands for that minute; a minute without is a gap.

    The primary key of the table is (id, at): a table in parts cannot have one without its time.
    """

    group = _group()
    at = models.DateTimeField()  # whole minute
    capacity = models.PositiveIntegerField()
    healthy = models.PositiveIntegerField()
    used = models.PositiveIntegerField()
    reserved = models.PositiveIntegerField()
    free = models.PositiveIntegerField()
    releasing = models.PositiveIntegerField()
    outside = models.PositiveIntegerField()
    unusable = models.PositiveIntegerField()
    busy = models.PositiveIntegerField(null=True)  # None = not measured

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "at"], name="one_water_sample_per_minute")]
        indexes = [models.Index(fields=["at"], name="water_samples_by_time")]

    def __str__(self) -> str:
        return f"{self.group_id} {self.at:%F %R}"


class WaterRollup(models.Model):
    """One figure of one group over one hour or day: for how long it is known, card-seconds, least and most cards."""

    group = _group()
    at = models.DateTimeField()  # its beginning, UTC
    figure = models.CharField(max_length=16, choices=[(name, name) for name in FIGURES])
    seconds = models.PositiveIntegerField()
    card_seconds = models.PositiveBigIntegerField()
    least = models.PositiveIntegerField()
    most = models.PositiveIntegerField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.group_id} {self.at:%F %R} {self.figure}"


class WaterHour(WaterRollup):
    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "at", "figure"], name="one_water_hour_per_figure")]
        indexes = [models.Index(fields=["at"], name="water_hours_by_time")]


class WaterDay(WaterRollup):
    """Days of UTC."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "at", "figure"], name="one_water_day_per_figure")]
