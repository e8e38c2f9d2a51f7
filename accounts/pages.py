"""Pages about oneself: language, and tokens for scripts."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import check_for_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts import services
from accounts.forms import TokenForm
from accounts.selectors import tokens_of
from accounts.web import actor_of_page, signed_in
from common.errors import DomainError, FieldProblem, InvalidInput
from common.ways_back import path_back


@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Change the language, kept with the person, or in a cookie for somebody who is not signed in; then go back."""
    chosen = request.POST.get("language", "")
    if chosen not in dict(settings.LANGUAGES) or not check_for_language(chosen):
        raise InvalidInput([FieldProblem("language", "unknown", _("This language is not offered."))])
    if request.user.is_authenticated:
        services.profile_edit(actor=actor_of_page(request), language=chosen)
    response = HttpResponseRedirect(path_back(request, otherwise=reverse("home")))
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        chosen,
        max_age=settings.SESSION_COOKIE_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )
    return response


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """One's own tokens. A new one's text is in the answer to its creation and nowhere else."""
    actor = actor_of_page(request)
    form, made, status = TokenForm(), None, 200
    if request.method == "POST":
        form = TokenForm(request.POST)
        if form.is_valid():
            days = form.cleaned_data["days"]
            try:
                token, text = services.token_create(
                    actor=actor, name=form.cleaned_data["name"], days=services.TOKEN_DAYS if days is None else days
                )
                form, made = TokenForm(), {"token": token, "text": text}
            except DomainError as error:
                form.add_problems(error)
        status = 200 if made else 422
    context = {"form": form, "made": made, "tokens": tokens_of(actor)}
    return render(request, "accounts/tokens.html", context, status=status)


@signed_in
@require_POST
def token_revoke(request: HttpRequest, public_id: str) -> HttpResponse:
    services.token_revoke(actor=actor_of_page(request), public_id=public_id)
    messages.success(request, _("The token is revoked. Whatever still uses it is refused from now on."))
    return redirect("accounts:tokens")
