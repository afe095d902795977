"""File names that suggest a secret, besides those that policy denies by itself (`secret-files`)."""

from __future__ import annotations

NAMES = (
    "*.pem", "*.key", "*.tfvars", "*.tfvars.json", ".envrc", "secrets.yml", "secrets.yaml", "secrets.*.yml",
    "secrets.*.yaml", "kubeconfig", "kubeconfig.*", "*.kubeconfig", "appsettings.*.json",
)  # fmt: skip
