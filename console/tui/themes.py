"""The two looks of the app. Terminals with 16 colours get their own palette: Textual's ANSI themes."""

from __future__ import annotations

from textual.color import Color
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


def extra_variables(theme: Theme) -> dict[str, str]:
    """The solid colours that the app adds to any theme, also to one that a user brought."""
    if theme.ansi:
        return {
            "dim": "ansi_bright_black" if theme.dark else "ansi_black",
            "row-cursor": "ansi_blue",
            "row-cursor-blurred": "ansi_bright_black" if theme.dark else "ansi_white",
            "rule": "ansi_bright_black",
        }
    primary = Color.parse(theme.primary)
    background = Color.parse(theme.background or ("#121212" if theme.dark else "#efefef"))
    foreground = Color.parse(theme.foreground or ("#e0e0e0" if theme.dark else "#1e1e1e"))
    return {
        "dim": background.blend(foreground, 0.6).hex,
        "row-cursor": background.blend(primary, 0.32).hex,
        "row-cursor-blurred": background.blend(primary, 0.18).hex,
        "rule": background.blend(foreground, 0.25).hex,
    }
