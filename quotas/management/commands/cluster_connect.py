"""`manage.py cluster_connect`: connect a cluster from kubeconfig files, or give one other credentials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.backends.kueue_volcano.credentials import Account
from clusters.backends.kueue_volcano.kubeconfig import SIZE_MAX
from clusters.connect import Connected, Upload, credentials_replace
from clusters.models import Cluster, ClusterMode
from common.errors import DomainError, InvalidInput
from quotas.cluster_services import cluster_open


class Command(BaseCommand):
    help = (
        "Connect a cluster: give one kubeconfig for each account (docs/connect-a-cluster.md says how they are made)."
        " Only the server's address, its certificate authority and the account are taken, and stored encrypted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True, help="what people call the cluster")
        parser.add_argument("--runtime", required=True, type=Path, metavar="FILE", help="the account for jobs")
        parser.add_argument("--quota", type=Path, metavar="FILE", help="the account for quotas")
        parser.add_argument("--node", type=Path, metavar="FILE", help="the account for nodes")
        parser.add_argument("--one-for-all", action="store_true", help="use the account of --runtime for everything")
        parser.add_argument("--context", default="", help="the context to use in each file")
        parser.add_argument("--default", action="store_true", help="jobs go here first")
        parser.add_argument(
            "--mode", choices=[mode.value for mode in ClusterMode], help="begin so; else by what is found there"
        )
        parser.add_argument("--replace", action="store_true", help="the cluster exists: replace its credentials")

    def handle(self, *args: Any, **options: Any) -> None:
        files = {account: _read(options[account]) for account in Account if options[account] is not None}
        upload = Upload(files, options["context"], options["one_for_all"])
        try:
            connected = self._connect(options["name"], upload, options)
        except InvalidInput as error:
            raise CommandError("\n".join(f"--{_option(p.attr)}: {p.message}" for p in error.problems)) from None
        except DomainError as error:
            raise CommandError(str(error.message)) from None
        self._report(connected)

    def _connect(self, name: str, upload: Upload, options: dict[str, Any]) -> Connected:
        if not options["replace"]:
            mode = ClusterMode(options["mode"]) if options["mode"] else None
            return cluster_open(actor=None, name=name, upload=upload, is_default=options["default"], mode=mode)
        cluster = Cluster.objects.filter(name__iexact=name).first()
        if cluster is None:
            raise CommandError(f"There is no cluster of the name {name}.")
        return credentials_replace(actor=None, cluster=cluster, upload=upload)

    def _report(self, connected: Connected) -> None:
        cluster = connected.cluster
        self.stdout.write(f"{cluster.name} ({cluster.slug}) at {cluster.server}, fingerprint {cluster.fingerprint}")
        for account, answer in connected.answers.items():
            said = f"answers as {answer.user or 'somebody'}, {answer.version}" if answer else "no answer yet"
            self.stdout.write(f"  {account}: {said}")
        for note in connected.notes:
            self.stderr.write(note)


def _option(attr: str) -> str:
    return attr.replace("_", "-")


def _read(path: Path) -> bytes:
    """The file's content, cut where it is too large to be read anyway."""
    try:
        with path.open("rb") as file:
            return file.read(SIZE_MAX + 1)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
