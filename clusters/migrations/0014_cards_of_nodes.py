"""What the cards of each node do, beside it. The next complete look, seconds later, fills it in."""

from django.db import migrations, models


def field() -> models.PositiveIntegerField:
    return models.PositiveIntegerField(db_default=0, default=0)


class Migration(migrations.Migration):
    dependencies = [("clusters", "0013_outside_pods")]

    operations = [
        migrations.AddField(model_name="node", name=name, field=field())
        for name in ("used", "reserved", "ending", "out")
    ]
