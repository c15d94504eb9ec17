"""git, as the mirror uses it: reads by plumbing, one fast-import stream for a commit, compare-and-swap.

GitPython finds the repository and reads config, heads and remotes; the bulk work goes to the git program
itself (10,000 pages: 1.5 s by fast-import, 23 s by GitPython's index, measured). Only
``reference-transaction`` hooks run, so no formatter hook can rewrite a page. The user's own settings,
index lock and staged files are respected; the environment of a surrounding hook is dropped.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mirror.errors import GitFailed, Locked, NotARepository
from mirror.files import check_path, is_dir
from mirror.gitlines import printable_line, rows

os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")  # a missing git program is our error, not an ImportError
import git
from git.exc import GitCommandError, GitError, InvalidGitRepositoryError, NoSuchPathError

NULL = "0" * 40
FALLBACK_IDENTITY = ("memory-console", "memory-console@localhost")
_DROPPED = (
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_ATTR_SOURCE",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_DEFAULT_HASH",
    "GIT_TRACE",
    "GIT_EXTERNAL_DIFF",
    "SSH_ASKPASS",
)
"""What a surrounding hook, or a person's shell, may have set that makes git look elsewhere, or ask."""
_INDEX_PATIENCE = 3.0
"""Seconds to wait for another git to finish with the index after the branch has moved."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One blob of a tree."""

    mode: str
    oid: str


@dataclass(frozen=True, slots=True)
class Change:
    """One path of a commit: its new bytes, or None to remove it."""

    path: str
    data: bytes | None


class Repository:
    """A work tree with its repository."""

    def __init__(self, repo: git.Repo) -> None:
        self._repo = repo
        self.top = Path(str(repo.working_tree_dir))
        self.common_dir = Path(repo.common_dir)
        self.git_dir = Path(repo.git_dir)
        """Of this work tree: a linked one has its own."""
        self._env = {k: v for k, v in os.environ.items() if k not in _DROPPED}
        self._env |= {
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GCM_INTERACTIVE": "never",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_LITERAL_PATHSPECS": "1",
        }
        if "GIT_SSH" not in self._env and not self.config("core", "sshCommand"):
            self._env.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")

    @classmethod
    def find(cls, start: Path) -> Repository:
        """The repository that ``start`` is in. Raises NotARepository."""
        try:
            for name in _DROPPED:
                os.environ.pop(name, None)
            git.Git().version_info  # noqa: B018 - raises where there is no git program
        except (GitError, OSError, AttributeError) as error:
            raise NotARepository(
                "the git program was not found", where="PATH", hint="install git 2.30 or newer"
            ) from error
        if not is_dir(start):
            raise NotARepository(
                "this is not a folder", where=str(start), hint="name the folder of a git repository"
            )
        try:
            repo = git.Repo(start, search_parent_directories=True)
        except (InvalidGitRepositoryError, NoSuchPathError) as error:
            raise NotARepository(
                "this folder is in no git repository",
                where=str(start),
                hint="run `git init` there, or name another folder",
            ) from error
        except (GitError, OSError, ValueError) as error:
            raise NotARepository(
                "the repository cannot be opened", where=str(start), hint=printable_line(error)
            ) from error
        if repo.bare or repo.working_tree_dir is None:
            raise NotARepository(
                "a bare repository has no work tree",
                where=str(start),
                hint="clone it and run this in the clone",
            )
        found = cls(repo)
        probe = found._run(["rev-parse", "--git-dir"], check=False)
        if probe.returncode:
            raise NotARepository(
                "git refuses this repository", where=str(start), hint=printable_line(probe.stderr)
            )
        found.git_dir = found.top / os.fsdecode(probe.stdout.rstrip(b"\r\n"))
        if found._text("rev-parse", "--show-object-format", check=False) not in ("", "sha1"):
            raise NotARepository(
                "this repository names objects by sha256, the mirror's manifest by sha1",
                where=str(start),
                hint="keep the wiki in a repository made with `git init --object-format=sha1`",
            )
        return found

    def close(self) -> None:
        self._repo.close()

    # Running git ---------------------------------------------------------------------------------------

    def _run(
        self,
        args: Sequence[str],
        *,
        data: bytes | None = None,
        check: bool = True,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        try:
            done = subprocess.run(
                ["git", "-C", str(self.top), *args],
                input=data,
                stdin=subprocess.DEVNULL if data is None else None,
                capture_output=True,
                env=self._env | dict(env or {}),
                check=False,
            )
        except FileNotFoundError as error:
            raise NotARepository(
                "the git program was not found", where="PATH", hint="install git 2.30 or newer"
            ) from error
        except OSError as error:
            raise GitFailed(
                f"git {args[0]} could not be started", where=str(self.top), hint=printable_line(error)
            ) from error
        if check and done.returncode:
            raise GitFailed(
                f"git {args[0]} failed",
                where=str(self.top),
                hint=printable_line(done.stderr) or f"exit {done.returncode}",
            )
        return done

    def _text(self, *args: str, check: bool = True) -> str:
        done = self._run(args, check=check)
        return done.stdout.decode("utf-8", "surrogateescape").strip() if done.returncode == 0 else ""

    # Refs ----------------------------------------------------------------------------------------------

    def resolve(self, revision: str) -> str | None:
        """The commit id of a revision, or None."""
        return (
            self._text(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", check=False
            )
            or None
        )

    def current_branch(self) -> str | None:
        """Full ref name of HEAD's branch, also of one without commits; None when detached."""
        return self._text("symbolic-ref", "--quiet", "HEAD", check=False) or None

    def is_ancestor(self, old: str, new: str) -> bool:
        return self._run(["merge-base", "--is-ancestor", old, new], check=False).returncode == 0

    def merge_base(self, one: str, other: str) -> str | None:
        return self._text("merge-base", one, other, check=False) or None

    def is_shallow(self) -> bool:
        """Whether history was cut off when it was cloned or fetched."""
        return self._text("rev-parse", "--is-shallow-repository", check=False) == "true"

    def deepen(self, remote: str) -> None:
        """Fetch the history that a shallow clone left out. Raises GitFailed."""
        self._remote(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--unshallow", remote])

    def remotes(self) -> list[str]:
        return self._text("remote", check=False).splitlines()

    def remote_url(self, name: str) -> str:
        """Without credentials."""
        url = self.config(f"remote.{name}", "url")
        if "://" in url:
            scheme, rest = url.split("://", 1)
            host, slash, path = rest.partition("/")
            return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
        return url

    def config(self, section: str, option: str) -> str:
        """As git reads it, with includes; '' where it is not set."""
        value = self._run(["config", "--get", f"{section}.{option}"], check=False).stdout
        return value.decode("utf-8", "replace").rstrip("\r\n")

    def _remote(self, args: Sequence[str], *, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        """A command that speaks to a remote: nobody is asked anything, and nothing is tidied up in passing."""
        return self._run(
            ["-c", "core.askPass=", "-c", "gc.auto=0", "-c", "maintenance.auto=false", *args], check=check
        )

    def fetch(self, remote: str, branch: str) -> None:
        """Update the remote-tracking ref of one branch. Raises GitFailed."""
        ref = f"refs/remotes/{remote}/{branch}"
        options = ["--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"]
        self._remote(["fetch", *options, remote, f"+refs/heads/{branch}:{ref}"])

    def push(self, remote: str, commit: str, ref: str) -> tuple[int, str, str]:
        """(exit code, what ``--porcelain`` says, stderr) of one push without force."""
        args = ["push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", "--", remote]
        done = self._remote([*args, f"{commit}:{ref}"], check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")

    def fast_forward(self, commit: str) -> str:
        """Bring branch, index and files of a work tree to a descendant; '' or why git would not."""
        done = self._run(["merge", "--ff-only", "--quiet", commit], check=False)
        return printable_line(done.stderr) or f"exit {done.returncode}" if done.returncode else ""

    def count_between(self, old: str | None, new: str) -> int:
        """Commits of ``new`` that ``old`` does not have."""
        text = self._text("rev-list", "--count", new, *([f"^{old}"] if old else []), check=False)
        return int(text) if text.isdigit() else 0

    def known_default(self, remote: str) -> str | None:
        """The remote's default branch as the clone noted it."""
        head = self._text("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD", check=False)
        return head.removeprefix(f"refs/remotes/{remote}/") or None

    def ask_default(self, remote: str) -> tuple[str | None, bool]:
        """(the remote's default branch, whether it has any branch), asked of it. Raises GitFailed."""
        done = self._remote(["ls-remote", "--symref", remote, "HEAD", "refs/heads/*"])
        lines = done.stdout.decode("utf-8", "surrogateescape").splitlines()
        name = next((line.split()[1] for line in lines if line.startswith("ref: refs/heads/")), None)
        return name and name.removeprefix("refs/heads/"), any("\trefs/heads/" in line for line in lines)

    def tracked(self, remote: str) -> list[str]:
        """Branches of the remote that are known here."""
        text = self._text("for-each-ref", "--format=%(refname)", f"refs/remotes/{remote}/", check=False)
        return [ref.removeprefix(f"refs/remotes/{remote}/") for ref in text.splitlines()]

    def is_branch_name(self, name: str) -> bool:
        if name.startswith("-") or "\0" in name:
            return False
        return self._run(["check-ref-format", f"refs/heads/{name}"], check=False).returncode == 0

    def remote_has_branch(self, remote: str, branch: str) -> bool:
        return bool(self._remote(["ls-remote", "--heads", remote, f"refs/heads/{branch}"]).stdout.strip())

    def checked_out(self) -> set[str]:
        """Refs that some work tree of the repository has checked out."""
        lines = self._text("worktree", "list", "--porcelain", check=False).splitlines()
        return {line.removeprefix("branch ") for line in lines if line.startswith("branch ")}

    def update_ref(self, ref: str, new: str, old: str | None) -> bool:
        """Compare-and-swap; False when the ref was somewhere else."""
        done = self._run(["update-ref", "-m", "console mirror sync", ref, new, old or NULL], check=False)
        if done.returncode == 0:
            return True
        if (
            b"is at" in done.stderr
            or b"reference already exists" in done.stderr
            or b"unable to resolve" in done.stderr
        ):
            return False
        if b".lock" in done.stderr and b"File exists" in done.stderr:
            raise Locked(
                f"another git holds {ref}",
                where=str(self.common_dir),
                hint="wait for it, then run this again",
            )
        raise GitFailed(f"git update-ref {ref} failed", where=str(self.top), hint=printable_line(done.stderr))

    # Trees and blobs -----------------------------------------------------------------------------------

    def tree(self, revision: str | None, folder: str) -> dict[str, TreeEntry]:
        """Path -> entry of every blob below ``folder`` at a revision; empty where it is not there."""
        if revision is None:
            return {}
        done = self._run(["ls-tree", "-r", "-z", "--full-tree", revision, "--", f"{folder}/"])
        return {path: TreeEntry(mode, oid) for path, (mode, _kind, oid) in rows(done.stdout)}

    def entry(self, revision: str | None, path: str) -> TreeEntry | None:
        """One blob, link, submodule or tree at a path, or None."""
        if revision is None:
            return None
        done = self._run(["ls-tree", "-z", "--full-tree", revision, "--", path])
        row = done.stdout.split(b"\0")[0]
        if not row:
            return None
        mode, _kind, oid = row.partition(b"\t")[0].decode("ascii").split()
        return TreeEntry(mode, oid)

    def blobs(self, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """(oid, bytes) of each; a missing one is left out."""
        wanted = list(dict.fromkeys(oids))
        if not wanted:
            return
        for start in range(0, len(wanted), 2000):
            part = wanted[start : start + 2000]
            done = self._run(
                ["cat-file", "--batch", "--buffer"], data="".join(f"{oid}\n" for oid in part).encode("ascii")
            )
            data, at = done.stdout, 0
            for oid in part:
                line_end = data.index(b"\n", at)
                fields = data[at:line_end].split()
                at = line_end + 1
                if fields[-1] == b"missing":
                    continue
                size = int(fields[2])
                yield oid, data[at : at + size]
                at += size + 1

    def sizes(self, oids: Iterable[str]) -> dict[str, int]:
        """Bytes of each object that is there."""
        wanted = list(dict.fromkeys(oids))
        if not wanted:
            return {}
        done = self._run(
            ["cat-file", "--batch-check"], data="".join(f"{oid}\n" for oid in wanted).encode("ascii")
        )
        rows = (row.split() for row in done.stdout.decode("ascii", "replace").splitlines())
        return {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[2].isdigit()}

    def blame(self, revision: str, path: str) -> dict[int, tuple[str, str, str]]:
        """Line -> (commit, author, summary) at a revision; empty where history does not reach."""
        done = self._run(["blame", "--line-porcelain", revision, "--", path], check=False)
        found: dict[int, tuple[str, str, str]] = {}
        commit = author = summary = ""
        line = 0
        for raw in done.stdout.split(b"\n"):
            text = raw.decode("utf-8", "replace")
            if raw.startswith(b"\t"):
                found[line] = (commit, author, summary)
            elif text.startswith("author "):
                author = text[7:]
            elif text.startswith("summary "):
                summary = text[8:]
            else:
                fields = text.split(" ")
                if len(fields) >= 3 and len(fields[0]) in (40, 64) and fields[2].isdigit():
                    commit, line = fields[0], int(fields[2])
        return found

    def merges_between(self, commit: str, tip: str) -> list[str]:
        """Subjects of the merges that brought a commit to the tip, the first one first."""
        text = self._text(
            "log", "--merges", "--ancestry-path", "--reverse", "--format=%s", f"{commit}..{tip}", check=False
        )
        return text.splitlines()

    def blob(self, revision: str | None, path: str) -> bytes | None:
        found = self.entry(revision, path)
        if found is None or not found.mode.startswith("100"):
            return None
        return next((data for _, data in self.blobs([found.oid])), None)

    # Writing -------------------------------------------------------------------------------------------

    def identity(self) -> tuple[str, str]:
        """Author of our commits: the user's where there is one."""
        name = os.environ.get("GIT_AUTHOR_NAME") or self.config("user", "name") or FALLBACK_IDENTITY[0]
        mail = os.environ.get("GIT_AUTHOR_EMAIL") or self.config("user", "email") or FALLBACK_IDENTITY[1]
        clean = str.maketrans("", "", "<>\n\r\0")
        # A name in another encoding comes with surrogates, which no commit can hold.
        name, mail = (part.encode("utf-8", "replace").decode("utf-8") for part in (name, mail))
        return name.translate(clean).strip() or FALLBACK_IDENTITY[0], mail.translate(
            clean
        ).strip() or FALLBACK_IDENTITY[1]

    def commit(
        self,
        changes: Sequence[Change],
        *,
        parents: Sequence[str],
        tree_of: str | None,
        message: str,
        slug: str,
        carried: tuple[str, str] | None = None,
    ) -> str:
        """A commit object with ``tree_of``'s tree changed by ``changes``; no branch moves. Its id.

        ``carried``: (folder, commit): that folder is taken as it stands at that commit before the changes.

        Written by one fast-import stream to a private ref that is dropped again. The entry count of what was
        asked for is checked afterwards, because git drops some paths in silence (measured).
        """
        for change in changes:
            check_path(change.path)
        ref = f"refs/mirror/{slug}/new"
        name, mail = self.identity()
        who = f"{name} <{mail}> {int(time.time())} +0000".encode()
        text = message.encode()
        out = [b"feature done\ncommit ", ref.encode(), b"\nauthor ", who, b"\ncommitter ", who]
        out += [b"\ndata %d\n" % len(text), text, b"\n"]
        if parents:
            out.append(b"from %s\n" % parents[0].encode())
            out += [b"merge %s\n" % parent.encode() for parent in parents[1:]]
        if tree_of is not None and (not parents or tree_of != parents[0]):
            tree = self._text("rev-parse", f"{tree_of}^{{tree}}")
            out.append(b"deleteall\nM 040000 %s \n" % tree.encode())
        if carried is not None:
            tree = self._text("rev-parse", f"{carried[1]}:{carried[0]}")
            out.append(b"M 040000 %s %s\n" % (tree.encode(), carried[0].encode("utf-8")))
        for change in changes:
            path = change.path.encode("utf-8")
            if change.data is None:
                out.append(b"D %s\n" % path)
            else:
                out += [b"M 100644 inline %s\ndata %d\n" % (path, len(change.data)), change.data, b"\n"]
        out.append(b"done\n")
        # Not core.ignorecase: it would write into a folder that differs in case only.
        options = ["--quiet", "--done", "--force", "--date-format=raw"]
        self._run(["-c", "core.ignorecase=false", "fast-import", *options], data=b"".join(out))
        made = self.resolve(ref)
        self._run(["update-ref", "-d", ref], check=False)
        if made is None:
            raise GitFailed("git fast-import made no commit", where=str(self.top), hint="see `git fsck`")
        self._check_written(made, tree_of, changes, carried)
        return made

    def _check_written(
        self, commit: str, tree_of: str | None, changes: Sequence[Change], carried: tuple[str, str] | None
    ) -> None:
        """The commit differs from ``tree_of`` (the carried folder: from its commit) by exactly the changes."""
        from mirror.manifest import blob_id

        empty = self._text("hash-object", "-t", "tree", "--stdin", check=False)
        if carried is None:
            written = self._raw_diff(tree_of or empty, commit)
        else:
            folder, tip = carried
            written = self._raw_diff(tree_of or empty, commit, ":/", f":(exclude,top,literal){folder}")
            written |= self._raw_diff(tip, commit, f":(top,literal){folder}")
        asked = {c.path: None if c.data is None else blob_id(c.data) for c in changes}
        wrong = [path for path, oid in written.items() if asked.get(path, "") != oid]
        missing = [path for path in asked if path not in written]
        if missing:
            stands = self.entries(commit, missing)
            wrong += [path for path in missing if stands.get(path) != asked[path]]
        if wrong:
            raise GitFailed(
                "git did not write what it was given",
                where=min(wrong),
                hint="nothing was moved; see `git fsck`",
            )

    def _raw_diff(self, old: str, new: str, *paths: str) -> dict[str, str | None]:
        """Path -> new blob id (None: gone) of what differs between two trees."""
        command = ["diff-tree", "-r", "-z", "--no-renames", "--raw", f"{old}^{{tree}}", f"{new}^{{tree}}"]
        fields = self._run([*command, "--", *paths]).stdout.split(b"\0")
        found: dict[str, str | None] = {}
        for head, path in zip(fields[0::2], fields[1::2], strict=False):
            oid = head.split()[3].decode("ascii")
            found[path.decode("utf-8", "surrogateescape")] = None if oid == NULL else oid
        return found

    def entries(self, revision: str, paths: Sequence[str]) -> dict[str, str]:
        """Path -> blob id of those that are there."""
        asked = "".join(f"{revision}:{path}\n" for path in paths).encode("utf-8", "surrogateescape")
        rows = self._run(["cat-file", "--batch-check=%(objectname) %(objecttype)"], data=asked).stdout.split(
            b"\n"
        )
        return {
            path: row[:-5].decode("ascii")
            for path, row in zip(paths, rows, strict=False)
            if row.endswith(b" blob")
        }

    # The user's work tree ------------------------------------------------------------------------------

    def dirty(self, *folders: str) -> set[str]:
        """Paths below folders whose file or index entry differs from HEAD, untracked files among them."""
        done = self._run(
            [
                "status",
                "--porcelain=v1",
                "-z",
                "--untracked-files=all",
                "--no-renames",
                "--ignored=no",
                "--",
                *folders,
            ]
        )
        return {row[3:].decode("utf-8", "surrogateescape") for row in done.stdout.split(b"\0") if row}

    def index_locked(self) -> Path | None:
        """The index's lock file when somebody holds it."""
        lock = Path(self._text("rev-parse", "--git-path", "index.lock"))
        lock = lock if lock.is_absolute() else self.top / lock
        return lock if lock.exists() else None

    def set_index(self, entries: Mapping[str, str | None]) -> None:
        """Exactly these index entries: blob id, or None to drop it. Others stay as they are."""
        rows = [
            (f"0 {NULL}\t{path}" if oid is None else f"100644 {oid}\t{path}").encode(
                "utf-8", "surrogateescape"
            )
            for path, oid in entries.items()
        ]
        deadline = time.monotonic() + _INDEX_PATIENCE
        while True:
            done = self._run(
                ["update-index", "-z", "--index-info"],
                data=b"".join(row + b"\0" for row in rows),
                check=False,
            )
            if done.returncode == 0:
                break
            held = b"index.lock" in done.stderr and b"File exists" in done.stderr
            if not held:
                raise GitFailed(
                    "the branch moved, the index could not be set",
                    where=str(self.top),
                    hint=f"{printable_line(done.stderr)}; run this again and it is put right",
                )
            if time.monotonic() > deadline:
                raise Locked(
                    "the branch moved, the index could not be set yet",
                    where=str(self.index_locked() or self.top),
                    hint="another git holds the index; run this again and it is put right",
                )
            time.sleep(0.1)
        self._run(["update-index", "-q", "--refresh"], check=False)

    def index(self, folder: str) -> dict[str, TreeEntry]:
        """Path -> staged entry below a folder."""
        done = self._run(["ls-files", "-s", "-z", "--", folder])
        return {path: TreeEntry(mode, oid) for path, (mode, oid, _stage) in rows(done.stdout)}

    def filtered(self, path: str) -> bool:
        """Whether a filter such as LFS, or another encoding, would turn a file's bytes into others."""
        done = self._text("check-attr", "-z", "filter", "working-tree-encoding", "--", path, check=False)
        return any(value not in ("unspecified", "unset") for value in done.split("\0")[2::3])

    def first_change(self, revision: str, path: str, pattern: str) -> str | None:
        """The oldest commit that changed a line matching an extended regular expression in a file, or None.

        Merges are looked into: every commit of a mirror's own branch is one.
        """
        text = self._text(
            "log", "-m", "--reverse", "--format=%H", "--extended-regexp", f"-G{pattern}", revision, "--", path,
            check=False,
        )  # fmt: skip
        return text.split("\n", 1)[0].strip() or None

    def log(self, revision: str, path: str, *, limit: int = 1000) -> list[git.Commit]:
        """Commits that touched a path, newest first."""
        try:
            return list(self._repo.iter_commits(revision, paths=path, max_count=limit))
        except (GitCommandError, ValueError) as error:
            raise GitFailed("the history cannot be read", where=path, hint=printable_line(error)) from error
