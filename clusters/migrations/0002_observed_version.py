"""The sequence behind ObservedWorkload.version: one clock of changes for all clusters."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("clusters", "0001_initial")]

    operations = [
        migrations.RunSQL(
            sql="CREATE SEQUENCE clusters_observed_version AS bigint",
            reverse_sql="DROP SEQUENCE clusters_observed_version",
        )
    ]
