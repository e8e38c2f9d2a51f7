import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_user_session_generation"),
        ("clusters", "0011_confirmed_groups"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="mode",
            field=models.CharField(
                choices=[("watching", "Watching"), ("managing", "Managing")],
                db_default="managing",
                default="managing",
                max_length=8,
            ),
        ),
        migrations.CreateModel(
            name="FoundQueue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=253)),
                ("is_pool", models.BooleanField(default=False)),
                ("facts", models.JSONField(default=dict)),
                ("cards", models.JSONField(default=dict)),
                ("counted", models.JSONField(default=dict)),
                ("is_gone", models.BooleanField(default=False)),
                ("seen_at", models.DateTimeField()),
                ("adopted", models.JSONField(default=dict)),
                ("adopted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "adopted_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="found_queues", to="clusters.cluster"
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "ordering": ["cluster", "name", "is_pool"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("cluster", "name", "is_pool"), name="one_found_queue_per_cluster_and_name"
                    )
                ],
            },
        ),
    ]
