"""`/account/…`"""

from __future__ import annotations

from django.urls import path

from accounts import pages

app_name = "accounts"
urlpatterns = [
    path("language/", pages.language, name="language"),
    path("tokens/", pages.tokens, name="tokens"),
    path("tokens/<str:public_id>/revoke/", pages.token_revoke, name="token_revoke"),
]
