"""The rewrites that are refused fail as `rules/refused.toml` says."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from evaluate_rules import gradients

from nanlint.catalog.load import own_folder, tables
from nanlint.catalog.template import holes_of, parse

REFUSED = tables(own_folder() / "refused.toml")["refused"]


@pytest.mark.parametrize("row", REFUSED, ids=lambda r: r["new"])
def test_refused_rewrite_fails_as_stated(row: dict[str, Any]) -> None:
    dtype = getattr(torch, row.get("dtype", "float32"))
    values = {name: torch.tensor(v, dtype=dtype) for name, v in row["at"].items()}
    tree = parse(row["new"])
    assert holes_of(tree) <= holes_of(parse(row["old"]))
    value, slopes = gradients(tree, values, dtype)
    flat = (value if row["phase"] == "forward" else torch.cat([s.reshape(-1) for s in slopes.values()])).double().reshape(-1)
    if row["gives"] == "nan":
        assert flat.isnan().any()
    elif row["gives"] in ("inf", "-inf"):
        assert (flat == float(row["gives"])).any()
    else:
        gives = float(row["gives"])
        assert ((flat - gives).abs() <= 1e-6 * max(abs(gives), 1)).any()
    if "truth" in row:
        assert not torch.isclose(flat, torch.tensor(row["truth"], dtype=torch.float64), rtol=1e-3, atol=0.0).any()


def test_at_least_ten_rewrites_are_refused_with_their_reason() -> None:
    assert len(REFUSED) >= 10
    assert all(row["why"] for row in REFUSED)
