"""`manage.py cluster_settings`: show or change what the console may use of a connected cluster."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts import audit
from clusters.backends.kueue_volcano.settings import settings_of
from clusters.connected import CONNECTED_KIND
from clusters.models import Cluster
from jobs.domain.images import image_problem

ON_OFF = {"on": True, "off": False}


class Command(BaseCommand):
    help = "Show the settings of a connected cluster, and change those that are given (docs/kueue-volcano.md)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("cluster", help="the cluster's short name, as in its address")
        parser.add_argument("--topology", choices=ON_OFF, help="let the gate choose the nodes, where it can")
        parser.add_argument("--topology-levels", nargs="+", metavar="LABEL", help="node labels, the widest first")
        parser.add_argument("--volcano", choices=ON_OFF, help="off: Kubernetes' own scheduler starts training pods")
        parser.add_argument("--git-image", metavar="IMAGE", help="image with sh and git; '' for no code from git")
        parser.add_argument("--ceiling-hours", type=int, metavar="N", help="the longest run anybody may have; 0: none")

    def handle(self, *args: Any, **options: Any) -> None:
        cluster = Cluster.objects.filter(slug=options["cluster"], kind=CONNECTED_KIND).first()
        if cluster is None:
            raise CommandError(f"There is no connected cluster of the name {options['cluster']}.")
        changes = _changes(options)
        if changes:
            with transaction.atomic():
                cluster = Cluster.objects.select_for_update().get(pk=cluster.pk)
                cluster.settings |= changes
                cluster.save(update_fields=["settings"])
                audit.record(None, "cluster.settings", target_type="cluster", target_id=cluster.slug, **changes)
        settings = settings_of(cluster)
        self.stdout.write(f"topology: {_word(settings.topology)}, levels {' '.join(settings.topology_levels)}")
        self.stdout.write(f"volcano: {_word(settings.volcano)}")
        self.stdout.write(f"git image: {settings.git_image or 'none, no code from git'}")
        hours = settings.ceiling_seconds // 3600 if settings.ceiling_seconds else None
        self.stdout.write(f"longest run: {'any' if hours is None else f'{hours} h'}")


def _word(on: bool) -> str:
    return "on" if on else "off"


def _changes(options: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for name in ("topology", "volcano"):
        if options[name] is not None:
            changes[name] = ON_OFF[options[name]]
    if options["topology_levels"] is not None:
        changes["topology_levels"] = options["topology_levels"]
    if options["git_image"] is not None:
        image = options["git_image"].strip()
        if image and image_problem(image) is not None:
            raise CommandError("--git-image is not the name of an image, such as registry.example/git:2.")
        changes["git_image"] = image
    if options["ceiling_hours"] is not None:
        if options["ceiling_hours"] < 0:
            raise CommandError("--ceiling-hours is a number of hours, or 0 for none.")
        changes["ceiling_seconds"] = options["ceiling_hours"] * 3600 or None
    return changes
