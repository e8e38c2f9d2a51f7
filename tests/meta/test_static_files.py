"""Stylesheet, icons and templates fit together: nothing used is missing, nothing lies there unused."""

from __future__ import annotations

import re
from pathlib import Path

import plotly
from django.conf import settings

TEMPLATES = Path(settings.BASE_DIR) / "templates"
STATIC = Path(settings.BASE_DIR) / "static"
SOURCES = ("accounts", "clusters", "jobs", "quotas", "platform")


def template_text() -> str:
    return "\n".join(path.read_text() for path in sorted(TEMPLATES.rglob("*.html")))


def python_text() -> str:
    root = Path(settings.BASE_DIR)
    return "\n".join(path.read_text() for source in SOURCES for path in sorted((root / source).rglob("*.py")))


def sprite_icons() -> set[str]:
    return set(re.findall(r'<symbol id="([^"]+)"', (STATIC / "sluice/icons.svg").read_text()))


def test_every_icon_that_a_template_names_is_in_the_sprite() -> None:
    named = set(re.findall(r'\{% icon "([^"]+)"', template_text()))
    named |= set(re.findall(r'(?:with| )icon="([^"]+)"', template_text()))
    named |= set(re.findall(r'icon\|default:"([^"]+)"', template_text()))
    assert named and named <= sprite_icons()


def test_every_icon_of_the_sprite_is_used() -> None:
    text = template_text() + python_text()
    unused = {name for name in sprite_icons() if f'"{name}"' not in text}
    assert unused == set()


def style_classes() -> set[str]:
    text = "".join((STATIC / "sluice" / name).read_text() for name in ("console.css", "dark.css"))
    css = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return set(re.findall(r"\.(sl-[a-z0-9-]+)", css))


def test_the_dark_theme_gives_every_colour_another_value_and_nothing_else() -> None:
    def colours(name: str) -> dict[str, str]:
        root = re.search(r":root \{(.*?)\n\}", (STATIC / "sluice" / name).read_text(), flags=re.S)
        assert root is not None
        return dict(re.findall(r"(--sl-[a-z0-9-]+):\s*(#[0-9a-f]+|rgb\([^)]*\)|0 8px[^;]*);", root[1]))

    light, dark = colours("console.css"), colours("dark.css")
    same = {name for name in light if name.startswith("--sl-tile-")} | {"--sl-live"}
    assert set(light) - same == set(dark)
    assert [name for name in dark if light[name] == dark[name]] == []


def used_classes() -> tuple[set[str], set[str]]:
    """Whole names, and the beginnings of those whose end a template fills in (`sl-state-{{ state }}`)."""
    text = template_text() + python_text() + (STATIC / "sluice/console.js").read_text()
    found = set(re.findall(r"(?<![\w-])(sl-[a-z0-9-]+)(\{\{)?", text))
    return {name for name, open_end in found if not open_end}, {name for name, open_end in found if open_end}


def test_every_class_in_use_is_styled() -> None:
    whole, begun = used_classes()
    styled = style_classes()
    assert whole - styled == set()
    assert {start for start in begun if not any(name.startswith(start) for name in styled)} == set()


def test_every_styled_class_is_in_use() -> None:
    whole, begun = used_classes()
    unused = {name for name in style_classes() - whole if not any(name.startswith(start) for start in begun)}
    assert unused == set()


def test_every_vendored_file_is_named_with_its_licence() -> None:
    vendor = STATIC / "vendor"
    readme = (vendor / "README.md").read_text()
    folders = {path.name for path in vendor.iterdir() if path.is_dir()}
    assert folders == set(re.findall(r"\| `(\w+)/` \|", readme))
    for folder in folders:
        assert list((vendor / folder).glob("LICENSE*")), folder


def test_the_chart_library_is_the_version_that_its_python_package_brings() -> None:
    """Two that disagree would understand figures differently."""
    ours = (STATIC / "vendor/plotly/plotly-cartesian.min.js").read_text()[:200]
    version = re.search(r"v(\d+\.\d+\.\d+)", ours)
    theirs = (Path(plotly.__file__).parent / "package_data/plotly.min.js").read_text()[:200]
    assert version is not None and f"v{version[1]}" in theirs
    assert f"| `plotly.js-cartesian-dist-min` | {version[1]} |" in (STATIC / "vendor/README.md").read_text()


def test_the_chart_library_is_loaded_by_pages_with_a_chart_alone() -> None:
    loading = {path.name for path in TEMPLATES.rglob("*.html") if "vendor/plotly" in path.read_text()}
    assert loading == {path.name for path in TEMPLATES.rglob("*.html") if "data-figure" in path.read_text()}


def test_no_template_needs_inline_styles_or_scripts() -> None:
    text = template_text()
    assert not re.search(r"<[^>]+\sstyle=", text)
    assert not re.search(r"<[^>]+\son[a-z]+=", text)
    assert not re.search(r"hx-on|hx-vals='js:|<style", text)
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)


def test_nothing_is_loaded_from_another_host() -> None:
    for path in (*TEMPLATES.rglob("*.html"), *STATIC.rglob("*.css"), *(STATIC / "sluice").glob("*")):
        text = path.read_text()
        assert not re.search(r"""(?:url\(|src=|href=)["']?(?:https?:)?//""", text), path


def test_the_scripts_and_the_stylesheet_stay_small() -> None:
    """What a browser parses before the first paint; Tabler itself is the rest."""
    assert (STATIC / "sluice/console.css").stat().st_size < 64_000
    assert (STATIC / "sluice/console.js").stat().st_size < 12_000
