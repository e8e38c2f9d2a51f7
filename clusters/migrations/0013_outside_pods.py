from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0012_mode_and_found_queues")]

    operations = [
        migrations.AddField(model_name="node", name="outsiders", field=models.JSONField(db_default=[], default=list)),
    ]
