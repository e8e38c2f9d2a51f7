"""Of nodes whose cards are shared: the physical cards, and the memory and cores of virtual ones. The next look fills it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0014_cards_of_nodes")]

    operations = [
        migrations.AddField(model_name="node", name="physical", field=models.PositiveIntegerField(null=True)),
        migrations.AddField(model_name="node", name="parts", field=models.JSONField(db_default=[], default=list)),
    ]
