"""The two looks of the app. Terminals with 16 colours get their own palette: Textual's ANSI themes."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="console-dark",
    primary="#6cb6d9",
    secondary="#8f9ddb",
    accent="#e3b566",
    warning="#e3b566",
    error="#e5737d",
    success="#8cc77c",
    foreground="#d7dce5",
    background="#12151b",
    surface="#191d25",
    panel="#222834",
    dark=True,
)
LIGHT = Theme(
    name="console-light",
    primary="#1c6a8f",
    secondary="#4a58a6",
    accent="#8a5a00",
    warning="#8a5a00",
    error="#b3262f",
    success="#2e7d32",
    foreground="#20242b",
    background="#fbfaf7",
    surface="#f1efe9",
    panel="#e4e1d8",
    dark=False,
)


def pick(name: str | None, colors: str | None) -> str:
    """The theme to start with. ``colors`` is Rich's colour system: ``standard`` has 16, None has none."""
    if name:
        return name
    return "ansi-dark" if colors == "standard" else DARK.name


def opposite(name: str, *, dark: bool) -> str:
    """The theme for the other time of day, of the same family."""
    if name.startswith("ansi-"):
        return "ansi-light" if dark else "ansi-dark"
    return LIGHT.name if dark else DARK.name
