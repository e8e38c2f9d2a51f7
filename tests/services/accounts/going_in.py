"""The way of a browser to the provider and back, for the tests of signing in."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.http import HttpResponse
from django.test import Client

from accounts.models import Membership
from tests.services.accounts.provider import FakeProvider

UNTRUSTED = "Example ID sent an answer that cannot be trusted, so nobody was signed in."
SILENT = "Example ID does not answer properly now. Try again in a minute."
STALE = "This sign-in took too long, or it began in another window. Start again."
NO_TEAM = "Example ID knows you, but gives you no team here. Ask a platform admin which group you need."


def begin(client: Client, **query: str) -> str:
    answer = client.get("/sign-in/provider/", query)
    assert answer.status_code == 302, answer.content
    return answer["Location"]


def go_back(client: Client, address: str) -> HttpResponse:
    parts = urlsplit(address)
    return client.get(f"{parts.path}?{parts.query}")


def sign_in(provider: FakeProvider, sub: str, *, client: Client | None = None, **query: str) -> Client:
    """The whole way, as a browser goes it. Whether it led in is for the caller to see."""
    client = client or Client(headers={"accept-language": "en"})
    go_back(client, provider.agree(begin(client, **query), sub))
    return client


def is_in(client: Client) -> bool:
    return client.get("/api/v1/me").status_code == 200


def told(client: Client) -> str:
    """What the sign-in page says above its form."""
    return client.get("/sign-in/").content.decode().replace("&#x27;", "'")


def roles_of(username: str) -> dict[str, str]:
    rows = Membership.objects.filter(user__username=username)
    return dict(rows.values_list("team__slug", "role"))
