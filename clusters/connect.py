"""Connecting clusters: what is uploaded is checked, tried out, sealed and stored. Nothing gives it out again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.backends.kueue_volcano.credentials import Account, Connection, connection_to, seal_accounts
from clusters.backends.kueue_volcano.kubeconfig import Access, KubeconfigError, parse_kubeconfig
from clusters.backends.kueue_volcano.look import Answer, first_look, has_others
from clusters.connected import CONNECTED_KIND, SETTINGS_KEY, AccountFacts, ConnectionFacts, ends, facts_as_json
from clusters.contract import BackendError, Part, Retryable
from clusters.labels import ACCOUNTS, REFUSALS, error_text
from clusters.models import Cluster, ClusterMode
from common.errors import DomainError, FieldProblem, InvalidInput
from common.hints import send
from common.names import clean_display_name, slug

NAME_MAX = 100
SLUG_MAX = 40
FINGERPRINT_LENGTH = 16


@dataclass(frozen=True, slots=True, repr=False)
class Upload:
    """Kubeconfigs by account, and which context of them counts ('' = the one that a file names itself)."""

    files: Mapping[Account, bytes]
    context: str = ""
    one_for_all: bool = False  # the file of the account for jobs is meant for all three

    def __repr__(self) -> str:
        return f"<Upload for {', '.join(sorted(self.files))}>"


@dataclass(frozen=True, slots=True)
class Connected:
    """A stored cluster, what it answered to each account (None: it was silent), and what people should know."""

    cluster: Cluster
    answers: Mapping[Account, Answer | None]
    notes: tuple[str, ...]


def cluster_connect(
    *, actor: Actor | None, name: str, upload: Upload, is_default: bool = False, mode: ClusterMode | None = None
) -> Connected:
    """Connect a cluster. Every account is tried out first: one that is refused is not stored; silence is no refusal.

    Without a ``mode`` a cluster is only watched where others have queues or work already, or where it is silent.
    Call it outside of a transaction, it talks to the cluster. Raises NotAllowed, InvalidInput.
    """
    if actor is not None:
        require(actor, Action.CLUSTER_MANAGE)
    name = clean_display_name(name)[:NAME_MAX].rstrip()
    candidates = _candidates(upload, _name_problems(name))
    trial = _try_out(candidates)
    mode = mode or _mode_for(candidates[Account.RUNTIME], trial)
    with transaction.atomic():
        if problems := _name_problems(name):  # somebody may have been faster
            raise InvalidInput(problems)
        if is_default:
            Cluster.objects.filter(is_default=True).update(is_default=False)
        cluster = Cluster(name=name, slug=_slug(name), kind=CONNECTED_KIND, is_default=is_default, mode=mode)
        _put(cluster, candidates, trial)
        cluster.save()
        _record(actor, "cluster.connect", cluster, candidates, is_default=is_default, mode=mode.value)
        send("clusters.sync", cluster.pk)
    return Connected(cluster, trial.answers, (*_notes(candidates, trial), *_mode_notes(cluster)))


def _mode_for(runtime: _Candidate, trial: _Trial) -> ClusterMode:
    """How to begin with a cluster that nobody said anything about."""
    if trial.failure:
        return ClusterMode.WATCHING
    try:
        return ClusterMode.WATCHING if has_others(runtime.connection) else ClusterMode.MANAGING
    except BackendError:  # it has fallen silent since
        return ClusterMode.WATCHING


def _mode_notes(cluster: Cluster) -> list[str]:
    if not cluster.is_watched_only:
        return []
    return [
        _("%(name)s is only looked at: nothing is written there until you start managing it.") % {"name": cluster.name}
    ]


def credentials_replace(*, actor: Actor | None, cluster: Cluster, upload: Upload) -> Connected:
    """Put other accounts in the place of all that a cluster has. Call it outside of a transaction.

    Raises NotAllowed, DomainError (the sandbox has none), InvalidInput.
    """
    if actor is not None:
        require(actor, Action.CLUSTER_MANAGE)
    require_connected(cluster)
    candidates = _candidates(upload, [])
    trial = _try_out(candidates)
    with transaction.atomic():
        cluster = Cluster.objects.select_for_update().get(pk=cluster.pk)
        _put(cluster, candidates, trial)
        cluster.rest_until = None
        cluster.save(update_fields=[*_WRITTEN, "rest_until"])
        _record(actor, "cluster.credentials", cluster, candidates)
        send("clusters.sync", cluster.pk)
    return Connected(cluster, trial.answers, tuple(_notes(candidates, trial)))


def require_connected(cluster: Cluster) -> None:
    """Raises DomainError for the sandbox."""
    if cluster.kind != CONNECTED_KIND:
        raise DomainError(
            "not_connected", _("The sandbox is part of the console: it has no credentials, and it stays.")
        )


# --------------------------------------------------------------------------- checking


@dataclass(frozen=True, slots=True, repr=False)
class _Candidate:
    """An account that was read and whose address is allowed."""

    access: Access
    connection: Connection

    @property
    def fingerprint(self) -> str:
        """Tells accounts apart and says nothing about them: it is keyed, so nothing can be guessed by it."""
        text = "\0".join((self.access.ca_pem, self.access.token, self.access.client_cert_pem))
        return _digest(text)


def _digest(text: str) -> str:
    return salted_hmac("clusters.fingerprint", text, algorithm="sha256").hexdigest()[:FINGERPRINT_LENGTH]


def _slug(name: str) -> str:
    return slug(name, SLUG_MAX, "cluster")


def _name_problems(name: str) -> list[FieldProblem]:
    if not name:
        return [FieldProblem("name", "blank", _("Give the cluster a name."))]
    if Cluster.objects.filter(name__iexact=name).exists() or Cluster.objects.filter(slug=_slug(name)).exists():
        return [
            FieldProblem("name", "taken", _("There is a cluster of this name already, or of one that is too like it."))
        ]
    return []


def _candidates(upload: Upload, problems: list[FieldProblem]) -> dict[Account, _Candidate]:
    """The accounts of an upload. Raises InvalidInput with everything that is wrong, ``problems`` included."""
    found: dict[Account, _Candidate] = {}
    for account in Account:
        if data := upload.files.get(account):
            try:
                found[account] = _candidate(data, upload.context)
            except _Refused as refused:
                problems.append(FieldProblem(account, refused.code, refused.message))
    if not upload.files.get(Account.RUNTIME):
        message = _("Upload the kubeconfig of the account for jobs.")
        problems.append(FieldProblem(Account.RUNTIME, "required", message))
    if upload.one_for_all and len(upload.files) > 1:
        message = _("One account is used for everything, so upload no other one.")
        problems.append(FieldProblem("one_for_all", "contradiction", message))
    if not problems:
        problems += _contradictions(found)
    if problems:
        raise InvalidInput(problems)
    return dict.fromkeys(Account, found[Account.RUNTIME]) if upload.one_for_all else found


class _Refused(Exception):
    """Why one file is not taken."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code)
        self.code = code
        self.message = message


def _candidate(data: bytes, context: str) -> _Candidate:
    try:
        access = parse_kubeconfig(data, context)
        return _Candidate(access, connection_to(access))
    except KubeconfigError as error:
        raise _Refused(error.code.value, str(REFUSALS[error.code]) % {"name": error.name}) from None
    except BackendError as error:  # the address is not allowed, or is none
        raise _Refused(error.code, str(REFUSALS[error.code]) % {"name": error.detail}) from None


def _contradictions(found: Mapping[Account, _Candidate]) -> list[FieldProblem]:
    """Accounts of one cluster are at one address, and one account is not another."""
    problems = []
    runtime = found[Account.RUNTIME]
    seen = {runtime.fingerprint}
    for account in (Account.QUOTA, Account.NODE):
        if (candidate := found.get(account)) is None:
            continue
        if candidate.access.server != runtime.access.server:
            message = _("This kubeconfig names another address than that of the account for jobs.")
            problems.append(FieldProblem(account, "other_server", message))
        elif candidate.fingerprint in seen:
            message = _("This is the same account once more. Say so if one account is meant for everything.")
            problems.append(FieldProblem(account, "same_account", message))
        seen.add(candidate.fingerprint)
    return problems


# --------------------------------------------------------------------------- trying out


@dataclass(frozen=True, slots=True)
class _Trial:
    """What the accounts were told; ``failure`` is the code of a silence, else ''."""

    answers: dict[Account, Answer | None]
    failure: str = ""


def _try_out(candidates: Mapping[Account, _Candidate]) -> _Trial:
    """Ask the cluster as each account. Raises InvalidInput for the accounts that it refuses."""
    answers: dict[Account, Answer | None] = dict.fromkeys(candidates)
    problems, failure = [], ""
    asked: dict[str, Answer] = {}
    for account, candidate in candidates.items():
        try:
            if candidate.fingerprint not in asked:
                asked[candidate.fingerprint] = first_look(candidate.connection)
            answers[account] = asked[candidate.fingerprint]
        except BackendError as error:
            if isinstance(error, Retryable) and error.code != "tls":
                failure = error.code
                break  # the others would wait for the same silence
            problems.append(FieldProblem(account, error.code, error_text(error.code)))
    if problems:
        raise InvalidInput(problems)
    return _Trial(answers, failure)


_WRITTEN = ("server", "credentials", "fingerprint", "sync_error", "settings", "lacks")


def _put(cluster: Cluster, candidates: Mapping[Account, _Candidate], trial: _Trial) -> None:
    """Write accounts and what is known of them into the row, which the caller saves."""
    answer = trial.answers[Account.RUNTIME]
    cluster.server = candidates[Account.RUNTIME].access.server.url
    cluster.credentials = seal_accounts({account: each.access for account, each in candidates.items()})
    cluster.fingerprint = _digest(" ".join(f"{account}={each.fingerprint}" for account, each in candidates.items()))
    cluster.sync_error = trial.failure
    facts = ConnectionFacts(
        accounts={
            account: AccountFacts(each.fingerprint, _user(trial.answers[account]), each.access.valid_until)
            for account, each in candidates.items()
        },
        version=answer.version if answer else "",
        ca_valid_until=candidates[Account.RUNTIME].access.ca_valid_until,
    )
    cluster.settings = {**cluster.settings, SETTINGS_KEY: facts_as_json(facts)}
    if answer is not None:
        cluster.lacks = sorted(answer.lacks)


def _user(answer: Answer | None) -> str:
    return answer.user if answer else ""


def _record(
    actor: Actor | None, action: str, cluster: Cluster, candidates: Mapping[Account, _Candidate], **more: Any
) -> None:
    audit.record(
        actor,
        action,
        target_type="cluster",
        target_id=cluster.slug,
        server=cluster.server,
        fingerprint=cluster.fingerprint,
        accounts=sorted(candidates),
        **more,
    )


# --------------------------------------------------------------------------- what people should know


def _notes(candidates: Mapping[Account, _Candidate], trial: _Trial) -> list[str]:
    """Sentences about what works and yet will not for ever, or not fully."""
    now = timezone.now()
    notes = []
    if trial.failure:
        notes.append(
            _("The cluster is stored. It gave no answer yet: %(error)s") % {"error": error_text(trial.failure)}
        )
    answer = trial.answers[Account.RUNTIME]
    lacks = answer.lacks if answer else frozenset()
    if Part.GATE in lacks:
        notes.append(_("Admission queues are not installed in this cluster: it can be looked at, and takes no jobs."))
    elif {Part.GANG, Part.TOPOLOGY} <= lacks:
        notes.append(
            _("Nothing in this cluster starts all parts of a job together: jobs of several parts are refused.")
        )
    notes += [_end_note(account, each.access, now) for account, each in candidates.items() if _ends(each.access, now)]
    if ends(candidates[Account.RUNTIME].access.ca_valid_until, now):
        notes.append(_("The certificate authority of this cluster has ended or ends within 30 days."))
    return notes


def _ends(access: Access, now: datetime) -> bool:
    return bool(ends(access.valid_until, now)) or (access.valid_from is not None and access.valid_from > now)


def _end_note(account: Account, access: Access, now: datetime) -> str:
    label = str(ACCOUNTS[account])
    if access.valid_from is not None and access.valid_from > now:
        return _("The account for %(account)s is not valid yet.") % {"account": label}
    if ends(access.valid_until, now) == "over":
        return _("The account for %(account)s has ended.") % {"account": label}
    assert access.valid_until is not None
    day = timezone.localtime(access.valid_until).strftime("%Y-%m-%d %H:%M")
    return _("The account for %(account)s ends on %(day)s. Replace it before.") % {"account": label, "day": day}
