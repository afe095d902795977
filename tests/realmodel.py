"""The model that real clients are run against: the one that `gateway doctor --live` brings."""

from __future__ import annotations

from gateway.install.scripted_model import LAST_WORD, Model, Step

__all__ = ["LAST_WORD", "Model", "Step"]
