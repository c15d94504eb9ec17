"""Random histories against a model of a few lines: the store says what the model says, and its index is sound."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from console.memory.embedded import EmbeddedStore
from console.memory.models import Curation, MemoryQuery, RecallRequest, RetainItem

T = TypeVar("T")

SENTENCES = [
    f"Statement {word} is about the {word} queue." for word in ("alpha", "beta", "gamma", "delta", "omega")
]
IDS = st.sampled_from(["d1", "..", "ü/2"])
TEXTS = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6).map("\n\n".join)
TAGS = st.lists(st.sampled_from(["a", "b"]), max_size=3).map(tuple)


@dataclass
class Doc:
    text: str
    tags: tuple[str, ...]
    retracted: set[str] = field(default_factory=set)
    ever: set[str] = field(default_factory=set)
    edited: dict[str, str] = field(default_factory=dict)

    def said(self) -> set[str]:
        return {sentence for sentence in SENTENCES if sentence in self.text}

    def live(self) -> set[str]:
        return {self.edited.get(one, one) for one in self.said() - self.retracted}


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "m.db"
        self.loop = asyncio.new_event_loop()
        self.store = EmbeddedStore(self.path)
        self.model: dict[str, Doc] = {}
        self.edits = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        self.assert_sound()
        self.run(self.store.aclose())
        self.loop.close()
        self.folder.cleanup()

    @initialize()
    def bank(self) -> None:
        self.run(self.store.create_bank("b"))

    @rule(document=IDS, text=TEXTS, tags=TAGS, append=st.booleans(), background=st.booleans())
    def retain(self, document: str, text: str, tags: tuple[str, ...], append: bool, background: bool) -> None:
        mode = "append" if append else "replace"
        item = RetainItem(content=text, document_id=document, tags=tags, update_mode=mode)
        self.run(self.store.retain("b", [item], background=background))
        known = self.model.get(document)
        if known is None:
            self.model[document] = Doc(text, tags)
        else:
            known.text = f"{known.text}\n{text}" if append else text
            known.tags = tags

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        document = data.draw(st.sampled_from(sorted(self.model)))
        gone = self.run(self.store.delete_document("b", document))
        assert gone == len(self.model.pop(document).live())

    @precondition(lambda self: any(doc.said() - doc.retracted for doc in self.model.values()))
    @rule(data=st.data(), edit=st.booleans())
    def curate(self, data: st.DataObject, edit: bool) -> None:
        document = data.draw(
            st.sampled_from(sorted(d for d, doc in self.model.items() if doc.said() - doc.retracted))
        )
        doc = self.model[document]
        sentence = data.draw(st.sampled_from(sorted(doc.said() - doc.retracted)))
        memory = self.find(document, doc.edited.get(sentence, sentence), "valid")
        if edit:
            self.edits += 1
            doc.edited[sentence] = f"Edit {self.edits} is about the queue."
            self.run(self.store.curate_memory("b", memory, Curation(text=doc.edited[sentence])))
        else:
            doc.retracted.add(sentence)
            doc.ever.add(sentence)
            self.run(self.store.curate_memory("b", memory, Curation(state="invalidated", reason="r")))

    @precondition(lambda self: any(doc.retracted & doc.said() for doc in self.model.values()))
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        document = data.draw(
            st.sampled_from(sorted(d for d, doc in self.model.items() if doc.retracted & doc.said()))
        )
        doc = self.model[document]
        sentence = data.draw(st.sampled_from(sorted(doc.retracted & doc.said())))
        memory = self.find(document, doc.edited.get(sentence, sentence), "invalidated")
        doc.retracted.discard(sentence)
        self.run(self.store.curate_memory("b", memory, Curation(state="valid")))

    @precondition(lambda self: self.model)
    @rule(data=st.data(), tags=TAGS)
    def retag(self, data: st.DataObject, tags: tuple[str, ...]) -> None:
        document = data.draw(st.sampled_from(sorted(self.model)))
        self.run(self.store.set_document_tags("b", document, tags))
        self.model[document].tags = tags

    @rule()
    def reopen(self) -> None:
        self.run(self.store.aclose())
        self.store = EmbeddedStore(self.path)

    def find(self, document: str, text: str, state: str) -> str:
        page = self.run(self.store.list_memories("b", MemoryQuery(state=state, document_id=document, q=text)))
        assert page.total == 1
        return page.items[0].id

    @invariant()
    def says_what_the_model_says(self) -> None:
        documents = self.run(self.store.list_documents("b"))
        assert {one.id for one in documents.items} == self.model.keys()
        live = self.run(self.store.list_memories("b", MemoryQuery(limit=1000))).items
        for identifier, doc in self.model.items():
            document = self.run(self.store.get_document("b", identifier))
            assert document.original_text == doc.text
            assert document.tags == tuple(sorted(set(doc.tags)))
            facts = [memory for memory in live if memory.document_id == identifier]
            assert sorted(memory.text for memory in facts) == sorted(doc.live())
            once_archived = {
                doc.edited.get(one, one) for one in doc.ever
            }  # these keep the tags that they had
            assert {memory.tags for memory in facts if memory.text not in once_archived} <= {document.tags}
            assert document.memory_unit_count == len(facts)
            for memory in facts:
                if memory.text in SENTENCES:
                    assert memory.proof_count == doc.text.count(memory.text)
        assert self.run(self.store.get_bank("b")).fact_count == len(live)

    @invariant()
    def finds_exactly_what_is_live(self) -> None:
        answer = self.run(
            self.store.recall("b", RecallRequest(query="the queue", budget="high", max_tokens=100_000))
        )
        live = self.run(self.store.list_memories("b", MemoryQuery(limit=1000))).items
        assert {result.id for result in answer.results} == {memory.id for memory in live}

    def assert_sound(self) -> None:
        db = sqlite3.connect(self.path, isolation_level=None)
        db.execute("INSERT INTO memory_index (memory_index) VALUES ('integrity-check')")
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        db.close()


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)
