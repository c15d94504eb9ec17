"""The GitHub workflow of ``console mirror init --github``, as text. Pure: same banks, same bytes.

Two jobs. ``check`` runs on every pull request, of forks too, with read access and without a secret: it says
what would change in memory, and fails on edits that are no marks. ``sync`` runs on a schedule and when
something was merged: it carries marks to the bank and keeps one pull request with what the bank has new.
No text of a bank, a branch or a pull request is ever pasted into a script: names go through the environment.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

PATH = ".github/workflows/memory-console.yml"


@dataclass(frozen=True, slots=True)
class Bank:
    """One bank of the repository."""

    bank_id: str
    slug: str


def render(banks: Sequence[Bank], *, wiki: str, branch: str, version: str) -> str:
    """The file. ``wiki`` is the wiki's folder, ``branch`` the default branch, ``version`` of this package."""
    rows = "\n".join(
        f"          - {{bank: {quote(bank.bank_id)}, slug: {quote(bank.slug)}}}"
        for bank in sorted(banks, key=lambda bank: bank.slug)
    )
    text = _TEXT
    for name, value in {
        "@BANKS@": rows,
        "@WIKI@": quote(wiki),
        "@PATHS@": quote(f"{wiki}/**"),
        "@BRANCH@": quote(branch),
        "@PACKAGE@": quote(f"memory-console=={version}"),
    }.items():
        text = text.replace(name, value)
    return text


def quote(text: str) -> str:
    """A YAML double-quoted scalar in ASCII; what GitHub would read as an expression is made one that gives itself."""
    text = text.replace("${{", "${{ '${{' }}")
    # JSON writes characters beyond U+FFFF as two halves; YAML has one escape for them.
    parts = (f"\\U{ord(c):08x}" if ord(c) > 0xFFFF else json.dumps(c)[1:-1] for c in text)
    return '"' + "".join(parts).replace("\x7f", "\\x7f") + '"'


_TEXT = """\
# Written by `console mirror init --github`; run it again after an upgrade or for another bank.
#
# Secrets of the repository: HINDSIGHT_API_URL, and HINDSIGHT_API_TOKEN where the server asks for one.
# So that pull requests may be opened: Settings, Actions, General, "Allow GitHub Actions to create and approve
# pull requests". A pull request that a workflow opens starts no workflow by itself: a person's push to its
# branch does, or a token of a GitHub App in place of github.token.
name: memory

on:
  pull_request:
    paths: [@PATHS@]
  push:
    branches: [@BRANCH@]
  schedule:
    - cron: "17 * * * *"
  workflow_dispatch:

permissions: {}

env:
  MEMORY_CONSOLE: @PACKAGE@
  CONSOLE_WIKI: @WIKI@

jobs:
  check:
    if: github.event_name == 'pull_request'
    runs-on: ubuntu-latest
    timeout-minutes: 15
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0
          persist-credentials: false
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - name: Install
        run: python -m pip install --quiet "$MEMORY_CONSOLE"
      - name: What changes in memory
        env:
          BASE: ${{ github.event.pull_request.base.sha }}
        run: |
          console mirror diff "$BASE...HEAD" --format markdown > review.md
          head -c 1000000 review.md >> "$GITHUB_STEP_SUMMARY"
      - name: Marks
        env:
          BASE: ${{ github.event.pull_request.base.sha }}
        run: console mirror check "$BASE...HEAD"

  sync:
    if: github.event_name != 'pull_request'
    runs-on: ubuntu-latest
    timeout-minutes: 60
    strategy:
      fail-fast: false
      matrix:
        include:
@BANKS@
    concurrency:
      group: mirror-${{ matrix.slug }}
      cancel-in-progress: false
    permissions:
      contents: write
      pull-requests: write
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0
          ref: @BRANCH@
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - name: Install
        run: python -m pip install --quiet "$MEMORY_CONSOLE"
      - name: Sync
        env:
          HINDSIGHT_API_URL: ${{ secrets.HINDSIGHT_API_URL }}
          HINDSIGHT_API_TOKEN: ${{ secrets.HINDSIGHT_API_TOKEN }}
          GITHUB_TOKEN: ${{ github.token }}
          GIT_AUTHOR_NAME: github-actions[bot]
          GIT_AUTHOR_EMAIL: 41898282+github-actions[bot]@users.noreply.github.com
          BANK: ${{ matrix.bank }}
        run: |
          if [ -z "$HINDSIGHT_API_URL" ]; then
            echo "::error::the secret HINDSIGHT_API_URL is not set: Settings, Secrets and variables, Actions"
            exit 1
          fi
          code=0
          console mirror sync --bank "$BANK" --branch --push --pr --yes > report.txt 2>&1 || code=$?
          {
            echo "### Memory"
            echo
            head -c 900000 report.txt | sed 's/^/    /'
          } >> "$GITHUB_STEP_SUMMARY"
          # What a bank holds must not act as a command of the runner.
          stop="stop-$(python -c 'import secrets; print(secrets.token_hex(16))')"
          echo "::stop-commands::$stop"
          cat report.txt
          echo "::$stop::"
          case "$code" in
            0) ;;
            2 | 3) echo "::warning::something waits for a person, see the summary" ;;
            *) echo "::error::console mirror sync ended with $code, see the summary"; exit "$code" ;;
          esac
"""
