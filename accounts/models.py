"""People, teams, roles, tokens and the audit trail."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _
from knox.models import AbstractAuthToken, AuthTokenManager

from common.ids import new_ulid


class User(AbstractUser):  # type: ignore[django-manager-missing] # knox's manager of tokens has no annotation
    """A person. Platform admin is a flag of its own, not Django's superuser (decision 58)."""

    public_id = models.CharField(max_length=26, unique=True, default=new_ulid, editable=False)
    language = models.CharField(max_length=10, blank=True)  # "" = as the browser asks
    time_zone = models.CharField(max_length=64, blank=True)  # "" = the site's
    is_platform_admin = models.BooleanField(default=False)
    is_demo = models.BooleanField(default=False)
    session_generation = models.PositiveIntegerField(default=0, db_default=0)  # one more: older sessions are over

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """What a session must know to go on: it changes with the password, and whenever all sessions are ended."""
        if not self.session_generation:
            return super()._get_session_auth_hash(secret=secret)  # type: ignore[misc]
        value = f"{self.password}:{self.session_generation}"
        return salted_hmac("accounts.User.session", value, secret=secret, algorithm="sha256").hexdigest()

    @property
    def display_name(self) -> str:
        return self.get_full_name() or self.username

    @property
    def initials(self) -> str:
        """One or two characters for a badge; the first character of a name written without spaces."""
        words = self.display_name.split()
        letters = "".join(word[0] for word in words[:2])
        return letters.upper()


class Team(models.Model):
    """People who share quota. Archived teams keep their history and take no new jobs."""

    public_id = models.CharField(max_length=26, unique=True, default=new_ulid, editable=False)
    slug = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=100)
    space = models.CharField(max_length=63, unique=True)  # decision 17
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    image_prefixes = models.JSONField(default=list, blank=True)  # repositories its jobs may use; empty = any
    runs_as_root = models.BooleanField(default=True)  # False: programs that would be root are not started
    members = models.ManyToManyField(User, through="Membership", related_name="teams")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    ENGINEER = "engineer", _("Engineer")
    LEAD = "lead", _("Team lead")


class Membership(models.Model):
    """One person in one team; a lead is also an engineer of that team."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "team"], name="one_membership_per_person_and_team"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}: {self.role}"


class ApiToken(AbstractAuthToken):
    """A personal token: only its hash is kept, it has a name and an end, and can be revoked."""

    objects = AuthTokenManager()

    public_id = models.CharField(max_length=26, unique=True, default=new_ulid, editable=False)
    name = models.CharField(max_length=100)
    last_used_at = models.DateTimeField(null=True, blank=True)

    roles_read: Mapping[int, str] | None = None  # of its person, by team id, when they were read together with it

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return self.name


class AuditEvent(models.Model):
    """One act of a person or token, written in the transaction of the change itself. Never updated."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    actor_name = models.CharField(max_length=150)
    token_name = models.CharField(max_length=100, blank=True)
    action = models.CharField(max_length=64)
    target_type = models.CharField(max_length=32)
    target_id = models.CharField(max_length=64)
    team = models.ForeignKey(Team, null=True, on_delete=models.SET_NULL, related_name="+")
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["team", "-at"], name="audit_by_team")]

    def __str__(self) -> str:
        return f"{self.actor_name} {self.action} {self.target_type} {self.target_id}"
