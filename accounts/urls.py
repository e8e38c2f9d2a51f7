"""`/account/…`"""

from __future__ import annotations

from django.urls import path

from accounts import pages, sign_in_pages

app_name = "accounts"
urlpatterns = [
    path("language/", pages.language, name="language"),
    path("sign-in/", sign_in_pages.security, name="security"),
    path("sign-in/sessions/end/", sign_in_pages.sessions_end_others, name="sessions_end_others"),
    path("sign-in/sessions/<int:pk>/end/", sign_in_pages.session_end, name="session_end"),
    path("tokens/", pages.tokens, name="tokens"),
    path("tokens/<str:public_id>/revoke/", pages.token_revoke, name="token_revoke"),
]
