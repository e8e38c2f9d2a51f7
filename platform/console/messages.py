"""The message catalogues, kept with Babel alone: a bare machine has no gettext tools (decision 60).

English is the source. `update` brings new strings into the catalogue, `compile_catalogues` writes the committed
binary beside it, `problems` says what is missing.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

LANGUAGES = ("zh_Hans",)
SOURCES = ("accounts", "clusters", "jobs", "quotas", "platform")
TEMPLATES = "templates"
_KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
_HEADER = "# Translations of Sluice, under the licence of Sluice itself."


def po_path(root: Path, language: str) -> Path:
    return root / "locale" / language / "LC_MESSAGES" / "django.po"


def extract_messages(root: Path) -> Catalog:
    """Every string of the source tree, with where it stands."""
    catalogue = Catalog(project="Sluice", charset="utf-8", fuzzy=False)
    for path, method, text in _files(root):
        found = extract(method, io.BytesIO(text.encode()), keywords=_KEYWORDS, comment_tags=("Translators:",))
        for _line, message, comments, context in found:
            place = path.relative_to(root).as_posix()
            catalogue.add(message, None, [(place, 0)], auto_comments=comments, context=context)
    return catalogue


def _files(root: Path) -> Iterator[tuple[Path, str, str]]:
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path, "python", path.read_text()
    for path in sorted((root / TEMPLATES).rglob("*")):
        if path.suffix in {".html", ".txt", ".svg"}:
            # templatize blanks everything but the strings; without indents it is Python to a tokenizer
            code = templatize(path.read_text(), origin=str(path))
            yield path, "python", "\n".join(line.strip() for line in code.splitlines())


def load(root: Path, language: str) -> Catalog:
    path = po_path(root, language)
    if not path.exists():
        return Catalog(locale=language, project="Sluice", header_comment=_HEADER, charset="utf-8", fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def update(root: Path) -> None:
    """Bring new strings in and drop unused ones; translations that are still asked for stay."""
    template = extract_messages(root)
    for language in LANGUAGES:
        catalogue = load(root, language)
        catalogue.update(template, no_fuzzy_matching=True, update_creation_date=False)
        catalogue.obsolete.clear()
        path = po_path(root, language)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            write_po(file, catalogue, width=100, sort_output=True, include_lineno=False)


def compiled(catalogue: Catalog) -> bytes:
    buffer = io.BytesIO()
    write_mo(buffer, catalogue)
    return buffer.getvalue()


def compile_catalogues(root: Path) -> None:
    """Write each catalogue's binary beside it."""
    for language in LANGUAGES:
        po_path(root, language).with_suffix(".mo").write_bytes(compiled(load(root, language)))


def problems(root: Path) -> list[str]:
    """What keeps the catalogues from being complete, one line each; empty = all is well."""
    found: list[str] = []
    wanted = {(message.context, _key(message)): message for message in extract_messages(root) if message.id}
    for language in LANGUAGES:
        catalogue = load(root, language)
        have = {(message.context, _key(message)): message for message in catalogue if message.id}
        found += [
            f"{language}: not in the catalogue: {key!r}" for _, key in sorted(wanted.keys() - have.keys(), key=str)
        ]
        found += [f"{language}: no longer used: {key!r}" for _, key in sorted(have.keys() - wanted.keys(), key=str)]
        for message in have.values():
            found += [f"{language}: {text}" for text in _message_problems(message, catalogue)]
        binary = po_path(root, language).with_suffix(".mo")
        if not binary.exists() or binary.read_bytes() != compiled(catalogue):
            found.append(f"{language}: the compiled catalogue is out of date; run `manage.py messages compile`")
    return found


def _key(message: Message) -> str:
    return message.id if isinstance(message.id, str) else message.id[0]


def _message_problems(message: Message, catalogue: Catalog) -> Iterator[str]:
    strings = message.string if isinstance(message.string, (list, tuple)) else (message.string,)
    if message.fuzzy:
        yield f"fuzzy: {_key(message)!r}"
    if not all(strings):
        yield f"not translated: {_key(message)!r}"
        return
    for error in message.check(catalogue):
        yield f"{error}: {_key(message)!r}"
