"""The tables of the index file.

`chunks.id` is never given twice in the life of a file, so that whoever caches vectors by id is
never misled. A chunk has no text of its own: it is a range of its document's markdown, which lies
in `texts` in compressed blocks. `words` is a contentless FTS5 table (sqlite.org/fts5.html): it can
forget a row only when it is told the very words that it was given, which are made from the text
by `words.indexed`. Why it has a column for each class of length: see `word_table`.
"""

APPLICATION_ID = 0x43525831
"""`CRX1`, in the header of the file: it is ours."""

FORMAT = 1
"""`user_version` of the file. Goes up when tables change, and when `words.indexed` or the length
classes do: an older file is set aside and built anew from the documents."""

LENGTH_COLUMNS = 12
"""One for each class of length, see `word_table`."""

_WORD_COLUMNS = ", ".join(f"c{number}" for number in range(LENGTH_COLUMNS))

TABLES = f"""
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    file TEXT NOT NULL UNIQUE,
    path BLOB NOT NULL,
    content_hash TEXT NOT NULL,
    status TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    title TEXT NOT NULL,
    note TEXT NOT NULL,
    page_starts TEXT NOT NULL,
    chunk_count INTEGER NOT NULL
);

CREATE TABLE texts (
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    block INTEGER NOT NULL,
    content BLOB NOT NULL,
    UNIQUE (document, block)
);

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    first INTEGER NOT NULL,
    past INTEGER NOT NULL,
    line INTEGER NOT NULL,
    page INTEGER,
    headings TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    vector BLOB
);
CREATE INDEX chunks_of_document ON chunks (document, ordinal);
CREATE INDEX chunks_without_vector ON chunks (id) WHERE vector IS NULL;

CREATE TABLE lengths (
    class INTEGER PRIMARY KEY,
    chunks INTEGER NOT NULL,
    words INTEGER NOT NULL
);

CREATE TABLE changes (
    counter INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    PRIMARY KEY (counter, chunk)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE words USING fts5(
    {_WORD_COLUMNS},
    content='',
    columnsize=0,
    tokenize='porter unicode61 remove_diacritics 2'
);
"""
