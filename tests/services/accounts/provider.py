"""A real OpenID Connect provider on loopback, in a thread of this process, and ways in which it can lie."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

import flask
import jwt
import oidc_provider_mock
import requests
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from accounts.oidc.config import OidcConfig, TeamRole

Claims = dict[str, Any]
TEAMS = {
    "ml-vision": TeamRole("vision", "engineer"),
    "ml-vision-leads": TeamRole("vision", "lead"),
    "ml-language": TeamRole("language", "engineer"),
    "ml-gone": TeamRole("nobody-has-this-team", "engineer"),
}


@dataclass
class FakeProvider:
    """The provider as the tests steer it: who there is, what its answers are changed into, and what it was asked."""

    address: str
    change_token: Callable[[Claims], Claims] | None = None
    answers: dict[str, Callable[[], Response]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    signing_key: Any = None
    own_key: Any = None
    _challenges: dict[str, str] = field(default_factory=dict)
    _http: requests.Session = field(default_factory=requests.Session)

    def __post_init__(self) -> None:
        self._http.trust_env = False

    def config(self, **changes: Any) -> OidcConfig:
        base = OidcConfig(
            issuer=self.address,
            client_id="sluice",
            client_secret="not told to anybody",
            name="Example ID",
            claim="groups",
            teams=TEAMS,
            admin_value="ml-admins",
        )
        return replace(base, **changes)

    def person(self, sub: str, **claims: Any) -> None:
        """Make somebody known, or change what is said about them."""
        values = {"preferred_username": sub, "name": sub.title(), **claims}
        answer = self._http.put(f"{self.address}/users/{sub}", json=values, timeout=5)
        assert answer.status_code == 204

    def agree(self, address: str, sub: str) -> str:
        """Sign in at the provider as ``sub`` after being sent to ``address``; where it sends the browser back to."""
        answer = self._http.post(address, data={"sub": sub}, allow_redirects=False, timeout=5)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]

    # ----------------------------------------------------------------------- between it and the world

    def before(self, request: Request) -> Response | None:
        """Note what is asked; lie where a test wants it; check PKCE, which the provider itself does not."""
        self.asked.append((request.path, dict(request.headers)))
        if request.path in self.answers:
            return self.answers[request.path]()
        if request.path == "/oauth2/token":
            code = request.form.get("code", "")
            verifier = request.form.get("code_verifier", "")
            digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
            if self._challenges.get(code) != digest:
                return Response(json.dumps({"error": "invalid_grant"}), 400, content_type="application/json")
        return None

    def after(self, request: Request, response: Response) -> None:
        if request.path == "/oauth2/authorize" and response.status_code == 302:
            code = parse_qs(urlsplit(response.headers["Location"]).query).get("code", [""])[0]
            assert request.args["code_challenge_method"] == "S256"
            self._challenges[code] = request.args["code_challenge"]
        if request.path == "/oauth2/token" and response.status_code == 200 and self._is_to_lie:
            data = json.loads(response.get_data())
            data["id_token"] = self._changed(data["id_token"])
            response.set_data(json.dumps(data))

    @property
    def _is_to_lie(self) -> bool:
        return self.change_token is not None or self.signing_key is not None

    def _changed(self, token: str) -> str:
        """The token with other claims, signed by the provider's own key, or by one that it never published."""
        head, body, _signature = token.split(".")
        header = json.loads(base64.urlsafe_b64decode(head + "=="))
        claims = json.loads(base64.urlsafe_b64decode(body + "=="))
        claims = self.change_token(claims) if self.change_token else claims
        return jwt.encode(claims, self.signing_key or self.own_key, "RS256", {"kid": header.get("kid")})


@contextmanager
def running_provider() -> Iterator[FakeProvider]:
    """Start it on a free port of loopback; it is gone when the block ends."""
    app = oidc_provider_mock.app(access_token_max_age=timedelta(hours=1))
    provider = FakeProvider("")

    @app.before_request
    def keep_the_key() -> None:
        provider.own_key = flask.g.oidc_provider_mock_storage.jwk.as_pem(is_private=True)

    def wsgi(environ: Any, start_response: Any) -> Any:
        request = Request(environ)
        environ["wsgi.input"] = BytesIO(request.get_data(cache=True))  # it can be read once, and both want to
        response = provider.before(request)
        if response is None:
            response = Response.from_app(app, environ)
            provider.after(request, response)
        return response(environ, start_response)

    server = make_server("127.0.0.1", 0, wsgi, threaded=True)
    provider.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
