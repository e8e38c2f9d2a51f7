"""`/api/v1/groups`"""

from __future__ import annotations

from django.urls import path

from clusters.api import views

urlpatterns = [path("groups", views.GroupsView.as_view(), name="groups")]
