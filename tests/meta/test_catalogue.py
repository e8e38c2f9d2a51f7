"""Names of accelerator resources are data: they stand in the catalogue and nowhere in the code."""

from __future__ import annotations

import re
from pathlib import Path

from clusters.contract import SharingMode
from clusters.domain.accelerators import catalogue

ROOT = Path(__file__).resolve().parents[2]
CODE = ("accounts", "clusters", "jobs", "quotas", "platform", "templates", "static/sluice")
DOMAINS = r"(nvidia|amd|intel|huawei|cambricon|hygon|iluvatar|mthreads|metax-tech|enflame|kunlunxin|birentech)\.com"


def test_no_resource_of_a_vendor_is_named_in_the_code() -> None:
    kinds = (".py", ".html", ".js")
    paths = [path for folder in CODE for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    assert len(paths) > 300
    named = re.compile(rf"{DOMAINS}/|volcano\.sh/v?gpu|habana\.ai/|iluvatar\.ai/|aws\.amazon\.com/neuron")
    assert [path.relative_to(ROOT).as_posix() for path in paths if named.search(path.read_text("utf-8"))] == []


def test_the_catalogue_knows_every_vendor_that_is_promised() -> None:
    promised = "nvidia amd intel ascend cambricon hygon iluvatar mthreads metax enflame kunlunxin"
    assert set(promised.split()) <= set(catalogue().vendors)
    sliced = {row.vendor for row in catalogue().rows if row.sharing is not SharingMode.EXCLUSIVE}
    assert {"nvidia", "ascend", "cambricon", "hygon", "iluvatar", "mthreads", "metax", "enflame", "kunlunxin"} <= sliced


def test_every_row_can_be_reached() -> None:
    """A pattern that an earlier one swallows would never count."""
    patterns = [row.pattern for row in catalogue().rows]
    assert len(set(patterns)) == len(patterns)
    general = {r"nvidia\.com/.+", r"amd\.com/.+"}
    for pattern in general:
        before = [each for each in patterns if each.startswith(pattern.partition("/")[0])]
        assert before[-1] == pattern
