"""Landing a commit in the user's work tree without getting in the user's way.

The branch moves by compare-and-swap; then exactly the written entries are set in the user's index, because
otherwise the user's next commit would delete the wiki (measured). A note in the git folder is written before
the branch moves and removed after the files stand, so a run that was killed in between is put right by the
next one.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from mirror.errors import Locked, MirrorError
from mirror.files import inside, remove_file, temporary_of, write_file
from mirror.git import Change, Repository
from mirror.lock import state_dir
from mirror.manifest import blob_id


def _note_path(repo: Repository, slug: str) -> Path:
    """In the work tree's own git folder: another work tree's run must not overwrite it."""
    return state_dir(repo.git_dir) / f"{slug}.pending.json"


def check_index(repo: Repository) -> None:
    """Raises Locked while another git holds the index: nothing has moved yet."""
    lock = repo.index_locked()
    if lock is not None:
        raise Locked(
            "another git holds the index",
            where=str(lock),
            hint="wait for it; if no git is running, remove that file; nothing was written",
        )


def land(repo: Repository, slug: str, ref: str, commit: str, old: str | None, changes: list[Change]) -> bool:
    """Move ``ref`` from ``old`` to ``commit``, write the files, set the index. False: somebody moved it first."""
    check_index(repo)
    note = _note_path(repo, slug)
    value = {"ref": ref, "old": old, "new": commit, "paths": [c.path for c in changes]}
    try:
        write_file(note, json.dumps(value).encode("ascii"))
    except OSError as error:
        raise MirrorError(
            "the run's note could not be written",
            where=str(note),
            hint=f"{error.strerror or error}; nothing was moved",
        ) from error
    if not repo.update_ref(ref, commit, old):
        note.unlink(missing_ok=True)
        return False
    _write_out(repo, changes)
    note.unlink(missing_ok=True)
    return True


def _write_out(repo: Repository, changes: list[Change]) -> None:
    try:
        for change in changes:
            path = inside(repo.top, change.path)
            if change.data is None:
                remove_file(path, repo.top)
            else:
                write_file(path, change.data)
    except OSError as error:
        raise _not_written(repo, error) from error
    repo.set_index({c.path: None if c.data is None else blob_id(c.data) for c in changes})


def _not_written(repo: Repository, error: OSError) -> MirrorError:
    return MirrorError(
        "the commit stands, but its files could not be written",
        where=str(error.filename or repo.top),
        hint=f"{error.strerror or error}; make room, then run this again and they are written",
    )


def repair(repo: Repository, slug: str) -> int:
    """Finish what a killed run left behind; how many files were put right.

    Only entries that still are what they were before that run are touched: what a person changed since stays.
    """
    note = _note_path(repo, slug)
    try:
        value = json.loads(note.read_text(encoding="utf-8"))
        ref, old, new = str(value["ref"]), value["old"], str(value["new"])
        paths = [str(path) for path in value["paths"]]
    except FileNotFoundError:
        return 0
    except (OSError, ValueError, KeyError, TypeError):
        with suppress(OSError):
            note.unlink()
        return 0
    tip = repo.resolve(ref)
    moved = tip is not None and repo.resolve(new) is not None and (tip == new or repo.is_ancestor(new, tip))
    if not moved or repo.current_branch() != ref:
        note.unlink(missing_ok=True)
        return 0
    check_index(repo)
    folders = sorted({path.split("/")[0] for path in paths})
    before = {p: e.oid for folder in folders for p, e in repo.tree(old, folder).items()} if old else {}
    after = {p: e.oid for folder in folders for p, e in repo.tree(tip, folder).items()}
    staged = {p: e.oid for folder in folders for p, e in repo.index(folder).items()}
    blobs = dict(repo.blobs(after[p] for p in paths if p in after))
    entries: dict[str, str | None] = {}
    count = 0
    try:
        for path in paths:
            file = inside(repo.top, path)
            temporary_of(file).unlink(missing_ok=True)
            stands = blob_id(file.read_bytes()) if file.is_file() and not file.is_symlink() else None
            if stands == before.get(path) and stands != after.get(path):
                if path not in after:
                    remove_file(file, repo.top)
                elif after[path] in blobs:
                    write_file(file, blobs[after[path]])
                count += 1
            if staged.get(path) == before.get(path) and staged.get(path) != after.get(path):
                entries[path] = after.get(path)
                count += 1
    except OSError as error:
        raise _not_written(repo, error) from error
    if entries:
        repo.set_index(entries)
    note.unlink(missing_ok=True)
    return count
