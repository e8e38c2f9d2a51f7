"""`python -m tests.benchmarks.many_teams TEAMS [NODES]`: fills a database with so many, and prints how to get in."""

from __future__ import annotations

import json
import sys


def main(teams: int, *nodes: int) -> None:
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client
    from django.urls import reverse

    from accounts.actors import actor_of
    from accounts.models import User
    from accounts.services import token_create
    from tests.crowded_quotas import NODES, build_crowded

    call_command("migrate", verbosity=0)
    build_crowded(teams, nodes=nodes[0] if nodes else NODES)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    tokens, sessions = {}, {}
    for user in User.objects.all():
        _token, tokens[user.username] = token_create(actor=actor_of(user), name="benchmark")
        client = Client(headers={"Host": "127.0.0.1"})
        client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
        client.get(reverse("home"))
        sessions[user.username] = client.cookies["sluice_session"].value
    sys.stdout.write(json.dumps({"tokens": tokens, "sessions": sessions}))


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
