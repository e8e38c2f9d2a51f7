"""What allauth asks about people from the provider: who they are here, and what to say to those not let in."""

from __future__ import annotations

import logging
from typing import Any, NoReturn

import requests
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from django.contrib import messages
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from accounts.claim_services import is_admitted, not_admitted, person_admit
from accounts.oidc.provider import Provider, Untrusted, app_of, configured, session_to
from common.errors import DomainError

logger = logging.getLogger(__name__)


class SocialAccountAdapter(DefaultSocialAccountAdapter):
    """One provider, from the settings. No signing up, no connecting, and nobody is recognised by an e-mail address."""

    def list_apps(self, request: HttpRequest, provider: Any = None, client_id: Any = None) -> list[SocialApp]:
        config = configured()
        return [app_of(config)] if config is not None else []

    def get_provider(self, request: HttpRequest, provider: Any, client_id: Any = None) -> Provider:
        """The configured provider under whatever name. Raises SocialApp.DoesNotExist when there is none."""
        return Provider(request, app=self.get_app(request, provider=provider, client_id=client_id))

    def get_requests_session(self) -> requests.Session:
        config = configured()
        if config is None:
            raise SocialApp.DoesNotExist
        return session_to(config)

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return False

    def authenticate_by_email(self, sociallogin: SocialLogin) -> None:
        return None

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Find or make the person and give them what the claim gives, before anybody is signed in."""
        config = configured()
        assert config is not None  # the flow began with it
        sociallogin.token = None  # nothing here calls the provider later; a half-done sign-in must not keep it
        known = sociallogin.user if sociallogin.is_existing else None
        if known is not None and not known.is_active:
            return  # allauth says so to them
        try:
            user = person_admit(user=known, claims=sociallogin.claims, config=config)
        except DomainError as error:
            refuse(request, str(error.message))
        except IntegrityError:
            logger.warning("two first sign-ins of one person at once; one of them starts again")
            refuse(request, _("This sign-in was started twice. Start again."))
        if not is_admitted(user, config):
            refuse(request, str(not_admitted(config).message))
        sociallogin.user = user
        sociallogin.account = SocialAccount.objects.get(user=user, provider=config.key, uid=sociallogin.account.uid)

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Provider,
        error: str | None = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> NoReturn:
        """Every way in which a sign-in can fail ends on the sign-in page with one sentence."""
        if error == AuthError.CANCELLED:
            refuse(request, _("The sign-in was cancelled at %(provider)s.") % {"provider": provider.name})
        if exception is None and "state" not in (extra_context or {}):
            refuse(request, _("This sign-in took too long, or it began in another window. Start again."))
        refuse(request, sentence_for(exception, provider.name))


def sentence_for(error: Exception | None, name: str) -> str:
    """What to say about a failure in the conversation with the provider; details are for the log alone."""
    told = error if isinstance(error, Untrusted) else ""  # other errors quote what was sent, perhaps a code or a token
    logger.warning("sign-in at the provider failed: %s %s", type(error).__name__, told)
    if isinstance(error, requests.RequestException):
        return _("%(provider)s does not answer properly now. Try again in a minute.") % {"provider": name}
    return _("%(provider)s sent an answer that cannot be trusted, so nobody was signed in.") % {"provider": name}


def refuse(request: HttpRequest, sentence: str) -> NoReturn:
    """Back to the sign-in page, with a reason."""
    raise ImmediateHttpResponse(refusal(request, sentence))


def refusal(request: HttpRequest, sentence: str) -> HttpResponse:
    messages.error(request, sentence)
    return redirect("account_login")
