"""The embedded store: banks in one SQLite file, with no server, no model and no network.

It does what a Hindsight server does, with these differences:

| where                        | Hindsight                                  | embedded                                          |
|------------------------------|--------------------------------------------|---------------------------------------------------|
| a curated fact's text returns | live again, under a new id, edit lost      | stays invalidated or edited, under its id         |
| facts that did not change     | keep ids in unchanged chunks               | keep ids wherever they move in the document       |
| facts                         | written by a model, or the chunks           | sentences, list items, table rows, code blocks    |
| the same text twice in a document | as the model sees it                   | one memory, ``proof_count`` 2                     |
| background retain             | queued, in no order with other writes      | done at once; the operation is completed          |
| an operation id used again    | other items are dropped silently           | other items are refused (Conflict)                |
| several documents in a call   | committed one by one, in any order         | in order, in transactions of up to 256            |
| ``last_write_at``             | may move backwards on a delete             | never moves backwards; a delete moves it on       |
| observations                  | derived by a model                         | none                                              |
| ``prefer_observations``       | drops facts that an observation covers      | changes nothing, there being no observations      |
| ``temporal_window``           | ranks, does not filter                      | the same, as the ``temporal`` arm                 |
| ``occurred_*``                | as the model sees it                        | the first time a fact names, against the document's |
| reflect                       | written by a model                         | cited extracts, and it says so                    |
| tags set on a document        | kept as given, repeats too                 | distinct and sorted                               |
| chunks                        | joined, they do not give the text          | joined, they give the text                        |
"""

from console.memory.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
