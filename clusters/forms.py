"""The forms of connecting a cluster. Files are read once and never shown again, not even in a form with problems."""

from __future__ import annotations

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from accounts.forms import ServiceForm
from clusters.backends.kueue_volcano.credentials import Account
from clusters.backends.kueue_volcano.kubeconfig import SIZE_MAX
from clusters.connect import NAME_MAX, Upload
from clusters.models import ClusterMode

CONTEXT_MAX = 253


class CredentialsForm(ServiceForm):
    """A kubeconfig for each account."""

    runtime = forms.FileField(
        label=_("Kubeconfig of the account for jobs"),
        required=False,
        allow_empty_file=True,
        help_text=_("It makes and watches jobs."),
    )
    quota = forms.FileField(
        label=_("Kubeconfig of the account for quotas"),
        required=False,
        allow_empty_file=True,
        help_text=_("It makes queues and team spaces. Without it quotas do not reach the cluster."),
    )
    node = forms.FileField(
        label=_("Kubeconfig of the account for nodes"),
        required=False,
        allow_empty_file=True,
        help_text=_("It labels nodes. Without it the console shows the commands instead."),
    )
    one_for_all = forms.BooleanField(
        label=_("Use the account for jobs for everything"),
        required=False,
        help_text=_("For trying things out: that account then needs every right."),
    )
    context = forms.CharField(
        label=_("Context"),
        required=False,
        max_length=CONTEXT_MAX,
        help_text=_("Which context of the files to use. Left empty: the one that a file names itself."),
    )

    def upload(self) -> Upload:
        """What was uploaded, each file cut where it is too large to be read anyway."""
        typed = self.cleaned_data
        files = {account: _head(typed[account]) for account in Account if typed.get(account)}
        return Upload(files, typed["context"], typed["one_for_all"])


class ConnectForm(CredentialsForm):
    """The same for a cluster that is not known yet."""

    name = forms.CharField(
        label=_("Name"), required=False, max_length=NAME_MAX, help_text=_("What people call the cluster.")
    )
    is_default = forms.BooleanField(
        label=_("Jobs go here first"),
        required=False,
        help_text=_("Where a team has cards of one kind on several clusters."),
    )
    mode = forms.ChoiceField(
        label=_("How to begin"),
        required=False,
        choices=[
            ("", _("As a read-only view where others have queues or work, else managed")),
            (ClusterMode.WATCHING, _("As a read-only view: nothing is written there, no job goes there")),
            (ClusterMode.MANAGING, _("Managed: the console makes its queues there at once")),
        ],
    )
    field_order = ("name", "runtime", "quota", "node", "one_for_all", "context", "mode", "is_default")


def _head(file: UploadedFile) -> bytes:
    data: bytes = file.read(SIZE_MAX + 1)
    return data
