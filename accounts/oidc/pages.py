"""`/sign-in/provider/`: the way to the provider and the way back. Both are missing where none is configured."""

from __future__ import annotations

from allauth.account.utils import get_next_redirect_url
from allauth.core import ratelimit
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe
from requests import RequestException

from accounts.oidc.adapter import refusal, sentence_for
from accounts.oidc.provider import Connection, Provider


def _provider(request: HttpRequest) -> Provider:
    try:
        provider: Provider = get_adapter(request).get_provider(request, provider=Provider.id)
    except SocialApp.DoesNotExist:
        raise Http404 from None
    return provider


@require_safe
def begin(request: HttpRequest) -> HttpResponseBase:
    """Go to the provider. A link and no form: the policy of this site lets no form lead to another one."""
    provider = _provider(request)
    limited: HttpResponseBase | None = ratelimit.consume_or_429(request, action="login", limit_get=True)
    if limited is not None:
        return limited
    try:
        return provider.begin(request, get_next_redirect_url(request))
    except (RequestException, OAuth2Error) as error:
        return refusal(request, sentence_for(error, provider.name))


@require_safe
def callback(request: HttpRequest) -> HttpResponseBase:
    """Come back from the provider, with a code to ask it who this is, or with its refusal."""
    provider = _provider(request)
    limited: HttpResponseBase | None = ratelimit.consume_or_429(request, action="login", limit_get=True)
    if limited is not None:
        return limited
    response: HttpResponseBase = OAuth2CallbackView.adapter_view(Connection(request, provider.sub_id))(request)
    return response
