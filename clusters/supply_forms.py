"""The forms about what a team has. Values of secrets are read once and never shown again, not even with problems."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.actors import Actor
from accounts.forms import ServiceForm
from accounts.models import Team
from accounts.services import team_rules_set
from clusters.models import Cluster
from clusters.supply_services import dataset_set, registry_set, storage_set, variables_set
from common.errors import FieldProblem, InvalidInput

NAME_HELP = gettext_lazy("Small letters, digits and dashes. The same name again replaces what is stored.")


class _NeverShown(forms.Textarea):
    """What was typed does not come back."""

    def format_value(self, value: Any) -> None:
        return None


class SupplyForm(ServiceForm):
    """A form with one service behind it; ``act`` names it in a request."""

    act: ClassVar[str]

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(data, prefix=self.act, **options)

    def save(self, actor: Actor, cluster: Cluster, team: Team) -> None:
        """Call the service. Raises DomainError."""
        raise NotImplementedError


class VariablesForm(SupplyForm):
    act = "variables"

    name = forms.CharField(label=gettext_lazy("Name"), required=False, help_text=NAME_HELP)
    values = forms.CharField(
        label=gettext_lazy("Variables"),
        required=False,
        strip=False,
        widget=_NeverShown(attrs={"rows": 4, "spellcheck": "false", "autocomplete": "off"}),
        help_text=gettext_lazy(
            "One NAME=value a line. Every job of the team gets them; nobody can read them here later."
        ),
    )

    def save(self, actor: Actor, cluster: Cluster, team: Team) -> None:
        values = _pairs(self.cleaned_data["values"])
        variables_set(actor=actor, cluster=cluster, team=team, name=self.cleaned_data["name"], values=values)


class RegistryForm(SupplyForm):
    act = "registry"

    name = forms.CharField(label=gettext_lazy("Name"), required=False, help_text=NAME_HELP)
    server = forms.CharField(
        label=gettext_lazy("Registry"),
        required=False,
        help_text=gettext_lazy("As its images begin, such as registry.example."),
    )
    username = forms.CharField(
        label=gettext_lazy("User name"), required=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    password = forms.CharField(
        label=gettext_lazy("Password or token"),
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def save(self, actor: Actor, cluster: Cluster, team: Team) -> None:
        registry_set(actor=actor, cluster=cluster, team=team, **self.cleaned_data)


class StorageForm(SupplyForm):
    act = "storage"

    volume = forms.CharField(
        label=gettext_lazy("Volume"),
        required=False,
        help_text=gettext_lazy("Its name in the team's space on the cluster. Left empty, the team has no storage."),
    )
    console_folder = forms.CharField(
        label=gettext_lazy("Folder of the console"),
        required=False,
        help_text=gettext_lazy("Where the same volume is mounted below SLUICE_STORAGE_ROOT. Needed for uploads."),
    )

    def save(self, actor: Actor, cluster: Cluster, team: Team) -> None:
        storage_set(actor=actor, cluster=cluster, team=team, **self.cleaned_data)


class DatasetForm(SupplyForm):
    act = "dataset"

    name = forms.CharField(label=gettext_lazy("Name"), required=False, help_text=NAME_HELP)
    volume = forms.CharField(
        label=gettext_lazy("Volume"),
        required=False,
        help_text=gettext_lazy("Its name in the team's space on the cluster."),
    )
    folder = forms.CharField(
        label=gettext_lazy("Folder"),
        required=False,
        help_text=gettext_lazy("Inside the volume. Left empty: all of it."),
    )

    def save(self, actor: Actor, cluster: Cluster, team: Team) -> None:
        dataset_set(actor=actor, cluster=cluster, team=team, **self.cleaned_data)


class RulesForm(SupplyForm):
    act = "rules"

    images = forms.CharField(
        label=gettext_lazy("Images"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy("Registries or repositories, one a line. Left empty, jobs may use any image."),
    )
    runs_as_root = forms.BooleanField(
        label=gettext_lazy("Programs may run as root"),
        required=False,
        help_text=gettext_lazy("Many framework images do. Without it, such an image is not started."),
    )

    def save(self, actor: Actor, cluster: Cluster, team: Team) -> None:
        team_rules_set(
            actor=actor,
            team=team,
            image_prefixes=self.cleaned_data["images"].splitlines(),
            runs_as_root=self.cleaned_data["runs_as_root"],
        )


LEAD_FORMS: tuple[type[SupplyForm], ...] = (VariablesForm, RegistryForm)
ADMIN_FORMS: tuple[type[SupplyForm], ...] = (*LEAD_FORMS, DatasetForm, StorageForm, RulesForm)


def _pairs(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        if not equals:
            message = _("Line %(number)d has no = sign. Write one NAME=value a line.") % {"number": number}
            raise InvalidInput([FieldProblem("values", "not_pairs", message)])
        pairs[name.strip()] = value
    return pairs
