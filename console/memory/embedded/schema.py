"""The file's layout, one migration after the other. A migration that was released never changes.

``PRAGMA user_version`` says how far a file is; a file is upgraded in one transaction, so a kill leaves
the old layout or the new one.

Times are INTEGER microseconds since 1970 UTC (they compare and sort as numbers; the models get ISO 8601).
Lists are JSON; tags are sorted and distinct, so that equal sets are equal strings. Chunks keep offsets
into the document's text, not a second copy of it. The full-text index holds live memories only and is kept
by triggers, so no statement can forget it.
"""

from __future__ import annotations

import sqlite3

APPLICATION_ID = 0x4D436E73
"""Says in the file's header whose it is ("MCns")."""

_V1 = (
    """
    CREATE TABLE banks (
        bank INTEGER PRIMARY KEY,
        bank_id TEXT NOT NULL UNIQUE,
        uuid TEXT NOT NULL,
        name TEXT,
        mission TEXT,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        last_write_at INTEGER
    ) STRICT
    """,
    """
    CREATE TABLE documents (
        doc INTEGER PRIMARY KEY,
        bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
        id TEXT NOT NULL,
        text TEXT NOT NULL,
        length INTEGER NOT NULL,
        content_hash TEXT NOT NULL,
        tags TEXT NOT NULL,
        metadata TEXT,
        params TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        UNIQUE (bank, id)
    ) STRICT
    """,
    "CREATE INDEX documents_created ON documents (bank, created_at, id)",
    "CREATE INDEX documents_updated ON documents (bank, updated_at, created_at, id)",
    """
    CREATE TABLE chunks (
        doc INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
        idx INTEGER NOT NULL,
        start INTEGER NOT NULL,
        stop INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (doc, idx)
    ) STRICT, WITHOUT ROWID
    """,
    # ``source_key`` is the key of the text as it was extracted: an edited memory is found again by it.
    # ``dormant``: it was edited by hand and its sentence is gone from the document; if the sentence comes
    # back, so does the edit. ``grams`` is what the index needs beside the words (CJK pairs, parts of names).
    """
    CREATE TABLE memories (
        mem INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
        doc INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
        chunk INTEGER NOT NULL,
        position INTEGER NOT NULL,
        source_key TEXT NOT NULL,
        text TEXT NOT NULL,
        context TEXT,
        fact_type TEXT NOT NULL,
        mentioned_at INTEGER,
        occurred_start INTEGER,
        occurred_end INTEGER,
        entities TEXT NOT NULL,
        tags TEXT NOT NULL,
        metadata TEXT,
        grams TEXT,
        proof_count INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('valid', 'invalidated', 'dormant')),
        reason TEXT,
        invalidated_at INTEGER,
        edited_at INTEGER,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX memories_listed ON memories (bank, state, mentioned_at)",
    "CREATE INDEX memories_of_document ON memories (doc, state, fact_type)",
    """
    CREATE VIRTUAL TABLE memory_index USING fts5 (
        text, context, tags, entities, grams,
        content='memories', content_rowid='mem', tokenize="porter unicode61 remove_diacritics 2"
    )
    """,
    """
    CREATE TRIGGER memory_added AFTER INSERT ON memories WHEN new.state = 'valid' BEGIN
        INSERT INTO memory_index (rowid, text, context, tags, entities, grams)
        VALUES (new.mem, new.text, new.context, new.tags, new.entities, new.grams);
    END
    """,
    """
    CREATE TRIGGER memory_removed AFTER DELETE ON memories WHEN old.state = 'valid' BEGIN
        INSERT INTO memory_index (memory_index, rowid, text, context, tags, entities, grams)
        VALUES ('delete', old.mem, old.text, old.context, old.tags, old.entities, old.grams);
    END
    """,
    # One trigger, not two: SQLite runs the triggers of one event in an order that it does not promise, and a row
    # taken out of the index after it was put back in is reported as a malformed file by the next search.
    """
    CREATE TRIGGER memory_changed AFTER UPDATE OF text, context, tags, entities, grams, state ON memories
    WHEN old.state = 'valid' OR new.state = 'valid' BEGIN
        INSERT INTO memory_index (memory_index, rowid, text, context, tags, entities, grams)
        SELECT 'delete', old.mem, old.text, old.context, old.tags, old.entities, old.grams WHERE old.state = 'valid';
        INSERT INTO memory_index (rowid, text, context, tags, entities, grams)
        SELECT new.mem, new.text, new.context, new.tags, new.entities, new.grams WHERE new.state = 'valid';
    END
    """,
    """
    CREATE TABLE operations (
        op INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
        task_type TEXT NOT NULL,
        status TEXT NOT NULL,
        digest TEXT NOT NULL,
        document_ids TEXT NOT NULL,
        items_count INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        completed_at INTEGER,
        UNIQUE (bank, id)
    ) STRICT
    """,
)

_V2 = (
    # Neighbours are looked up by their place: without it in the index, every hit in a text of 100,000 facts would
    # read all of them.
    "DROP INDEX memories_of_document",
    "CREATE INDEX memories_in_order ON memories (doc, state, position, fact_type)",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_V1, _V2)
VERSION = len(MIGRATIONS)


def upgrade(db: sqlite3.Connection, version: int) -> None:
    """Bring the file from ``version`` to VERSION; the caller holds the write transaction."""
    for number, statements in enumerate(MIGRATIONS[version:], start=version + 1):
        for statement in statements:
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {number}")
    if version == 0:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
