"""Making and removing the objects of one attempt: create or adopt, delete only what is ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import Exists, KubeClient, Missing
from clusters.contract import Rejected, Retryable, WorkloadRef
from common.faults import reach

Manifest = Mapping[str, Any]


class _Owner(msgspec.Struct):
    uid: str = ""
    controller: bool = False


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[_Owner] = []
    deletion_timestamp: str | None = None


class Head(msgspec.Struct):
    """What identifies an object; the rest of it is not read."""

    metadata: _Meta


class _Heads(msgspec.Struct):
    items: list[Head] = []


def head_of(body: bytes) -> _Meta:
    return msgspec.json.decode(body, type=Head).metadata


def heads_of(body: bytes) -> list[_Meta]:
    return [head.metadata for head in msgspec.json.decode(body, type=_Heads).items]


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of attempts at one cluster, under one account."""

    client: KubeClient
    installation: str

    def is_ours(self, meta: _Meta, job_ulid: str, attempt: int) -> bool:
        wanted = {names.INSTALLATION: self.installation, names.JOB: job_ulid.lower(), names.ATTEMPT: str(attempt)}
        return wanted.items() <= meta.labels.items()

    def make(self, kind: names.Kind, manifest: Manifest, job_ulid: str, attempt: int) -> str:
        """Create the attempt's own object, or adopt it; returns its uid.

        Raises Rejected("name_taken") when the name belongs to somebody else, Retryable while the team's space is not
        there yet or an object of this name is still going away.
        """
        space, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]
        reach(f"{kind.plural}.create.before")
        try:
            meta = head_of(self.client.create(kind.path(space), manifest))
        except Missing as error:
            raise Retryable("space_missing", error.detail) from error
        except Exists:
            meta = self._existing(kind, space, name)
            if not self.is_ours(meta, job_ulid, attempt):
                raise Rejected("name_taken", f"{kind.kind} {space}/{name}") from None
            if meta.deletion_timestamp is not None:
                raise Retryable("still_ending", f"{kind.kind} {space}/{name}") from None
        reach(f"{kind.plural}.create.after")
        return meta.uid

    def make_owned(self, kind: names.Kind, manifest: Manifest, owner_uid: str) -> None:
        """Create an object that ``owner_uid`` owns, or find it. Raises Rejected("name_taken"), Retryable."""
        space, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]
        reach(f"{kind.plural}.create.before")
        try:
            self.client.create(kind.path(space), manifest)
        except Missing as error:
            raise Retryable("kind_missing", error.detail) from error
        except Exists:
            meta = self._existing(kind, space, name)
            if not any(owner.uid == owner_uid for owner in meta.owner_references):
                self._leftover(kind, space, meta)
        reach(f"{kind.plural}.create.after")

    def _leftover(self, kind: names.Kind, space: str, meta: _Meta) -> None:
        """The name is held by an object of another owner: one of ours goes, anybody else's stays."""
        if meta.labels.get(names.INSTALLATION) != self.installation:
            raise Rejected("name_taken", f"{kind.kind} {space}/{meta.name}")
        self.remove(kind, space, meta.name, meta.uid)
        raise Retryable("still_ending", f"{kind.kind} {space}/{meta.name}")

    def _existing(self, kind: names.Kind, space: str, name: str) -> _Meta:
        try:
            return head_of(self.client.get(kind.path(space, name)))
        except Missing as error:  # it went away between the two calls
            raise Retryable("still_ending", f"{kind.kind} {space}/{name}") from error

    def find(self, kind: names.Kind, ref: WorkloadRef) -> _Meta | None:
        """The attempt's own object, if it is there and ours."""
        try:
            meta = head_of(self.client.get(kind.path(ref.space, ref.object_name)))
        except Missing:
            return None
        return meta if self.is_ours(meta, ref.job_ulid, ref.attempt) else None

    def remove(self, kind: names.Kind, space: str, name: str, uid: str) -> bool:
        """Delete exactly the object of this uid and what it owns; False if it was gone."""
        reach(f"{kind.plural}.delete.before")
        try:
            self.client.delete(kind.path(space, name), uid=uid)
        except Missing:
            return False
        finally:
            reach(f"{kind.plural}.delete.after")
        return True
