-- A memory file of layout 1, as the first release wrote it. Never regenerate it from the code.
PRAGMA application_id = 1296264819;
BEGIN;
CREATE TABLE banks (
    bank INTEGER PRIMARY KEY,
    bank_id TEXT NOT NULL UNIQUE,
    uuid TEXT NOT NULL,
    name TEXT,
    mission TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_write_at INTEGER
) STRICT;
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
) STRICT;
CREATE INDEX documents_created ON documents (bank, created_at, id);
CREATE INDEX documents_updated ON documents (bank, updated_at, created_at, id);
CREATE TABLE chunks (
    doc INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    idx INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (doc, idx)
) STRICT, WITHOUT ROWID;
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
) STRICT;
CREATE INDEX memories_listed ON memories (bank, state, mentioned_at);
CREATE INDEX memories_of_document ON memories (doc, state, fact_type);
CREATE VIRTUAL TABLE memory_index USING fts5 (
    text, context, tags, entities, grams,
    content='memories', content_rowid='mem', tokenize="porter unicode61 remove_diacritics 2"
);
CREATE TRIGGER memory_added AFTER INSERT ON memories WHEN new.state = 'valid' BEGIN
    INSERT INTO memory_index (rowid, text, context, tags, entities, grams)
    VALUES (new.mem, new.text, new.context, new.tags, new.entities, new.grams);
END;
CREATE TRIGGER memory_removed AFTER DELETE ON memories WHEN old.state = 'valid' BEGIN
    INSERT INTO memory_index (memory_index, rowid, text, context, tags, entities, grams)
    VALUES ('delete', old.mem, old.text, old.context, old.tags, old.entities, old.grams);
END;
CREATE TRIGGER memory_changed AFTER UPDATE OF text, context, tags, entities, grams, state ON memories
WHEN old.state = 'valid' OR new.state = 'valid' BEGIN
    INSERT INTO memory_index (memory_index, rowid, text, context, tags, entities, grams)
    SELECT 'delete', old.mem, old.text, old.context, old.tags, old.entities, old.grams WHERE old.state = 'valid';
    INSERT INTO memory_index (rowid, text, context, tags, entities, grams)
    SELECT new.mem, new.text, new.context, new.tags, new.entities, new.grams WHERE new.state = 'valid';
END;
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
) STRICT;
INSERT INTO banks VALUES (1, 'b', '6a3e3d52-1c2f-4f3a-9a77-2f5b0a1c9d10', 'b', NULL, 1767225600000000, 1767225600000000, 1767225600000000);
INSERT INTO documents VALUES (1, 1, 'd', 'The queue runs on Redis.', 24, '4f0c2a', '[]', NULL, '{}', 1767225600000000, 1767225600000000);
INSERT INTO chunks VALUES (1, 0, 0, 24, 1767225600000000);
INSERT INTO memories (id, bank, doc, chunk, position, source_key, text, fact_type, mentioned_at, entities, tags, proof_count, state, created_at, updated_at)
VALUES ('019b0000-0000-7000-8000-000000000001', 1, 1, 0, 0, 'abcdef012345', 'The queue runs on Redis.', 'world', 1767225600000000, '["Redis"]', '[]', 1, 'valid', 1767225600000000, 1767225600000000);
PRAGMA user_version = 1;
COMMIT;
