"""Free cards beside each node. The next complete look, seconds later, fills them in."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0007_node_care"),
    ]

    operations = [
        migrations.AddField(
            model_name="node",
            name="free",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
    ]
