"""Groups that were there before count as confirmed: every row of `NodeGroup` may have jobs and quota, as until now.
Processes of the previous version go on adding theirs; from this one on, new kinds of nodes become proposals first.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0010_accelerator_names"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="node",
            name="labels",
            field=models.JSONField(db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name="node",
            name="offers",
            field=models.JSONField(db_default=[], default=list),
        ),
        migrations.AddField(
            model_name="nodegroup",
            name="confirmed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="nodegroup",
            name="confirmed_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="nodegroup",
            name="version",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.CreateModel(
            name="GroupProposal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=40)),
                ("title", models.CharField(max_length=100)),
                ("vendor", models.CharField(max_length=40)),
                ("card_model", models.CharField(max_length=60)),
                ("interconnect", models.CharField(blank=True, max_length=40)),
                (
                    "sharing",
                    models.CharField(
                        choices=[
                            ("exclusive", "exclusive"),
                            ("mig", "mig"),
                            ("time_sliced", "time_sliced"),
                            ("vgpu", "vgpu"),
                        ],
                        max_length=16,
                    ),
                ),
                ("unit", models.CharField(max_length=16)),
                ("cards_per_node", models.PositiveIntegerField()),
                ("cpu_millis_per_node", models.PositiveBigIntegerField(default=0)),
                ("memory_bytes_per_node", models.PositiveBigIntegerField(default=0)),
                ("resource", models.CharField(blank=True, max_length=120)),
                ("selector", models.JSONField(blank=True, default=dict)),
                ("is_aside", models.BooleanField(default=False)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("first_seen_at", models.DateTimeField()),
                ("version", models.PositiveIntegerField(default=0)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="proposals", to="clusters.cluster"
                    ),
                ),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["cluster", "is_aside", "slug"],
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "slug"), name="one_proposal_per_cluster_and_slug")
                ],
            },
        ),
    ]
