"""`python -m tests.benchmarks.joined PORT CA`: a cluster is connected whose API server repeats prepared bytes."""

from __future__ import annotations

import sys
from pathlib import Path


def main(port: int, ca_file: Path) -> None:
    import django

    django.setup()
    from clusters.backends.kueue_volcano.addresses import Server
    from clusters.backends.kueue_volcano.credentials import Account, seal_accounts
    from clusters.backends.kueue_volcano.kubeconfig import Access
    from clusters.models import Cluster
    from tests.benchmarks import crowd
    from tests.benchmarks.prepared import TOKEN

    access = Access(server=Server("127.0.0.1", port), ca_pem=ca_file.read_text(), token=TOKEN)
    cluster = Cluster.objects.create(
        slug="followed",
        name="Followed",
        kind="kueue_volcano",
        public_id=crowd.INSTALLATION.upper(),
        credentials=seal_accounts({Account.RUNTIME: access}),
    )
    sys.stdout.write(f"{cluster.pk}")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
