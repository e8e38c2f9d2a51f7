"""`/api/v1/`: me, tokens, teams, members, people."""

from __future__ import annotations

from django.urls import path

from accounts.api import views

urlpatterns = [
    path("me", views.MeView.as_view(), name="me"),
    path("tokens", views.TokensView.as_view(), name="tokens"),
    path("tokens/<str:public_id>", views.TokenView.as_view(), name="token"),
    path("teams", views.TeamsView.as_view(), name="teams"),
    path("teams/<slug:team>/members/<str:username>", views.MemberView.as_view(), name="member"),
    path("people", views.PeopleView.as_view(), name="people"),
    path("people/<str:username>/disable", views.PersonDisableView.as_view(), name="person-disable"),
    path("people/<str:username>/enable", views.PersonEnableView.as_view(), name="person-enable"),
]
