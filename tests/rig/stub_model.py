"""A model's place taken by arithmetic, so that a real Hindsight server runs without a model.

An OpenAI-compatible endpoint. Embeddings are hashed bags of words (384 numbers, unit length): texts that
share words are near each other, nothing else is. Chat answers follow from the question: one fact a
sentence on retain, one observation for each name that two or more new facts share on consolidation,
recall and then an answer on reflect. The server's own code (chunks, parsing, storage, fusion, the reflect
loop) runs for real.

``reword``: each extraction words its facts a little differently, as a model does when a text is
retained again; ``POST /v1/reword {"on": true}`` turns it on and off while it runs. ``delay``: seconds that each extraction takes.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 384
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
WORDINGS = ("{}", "It was noted that {}", "The conversation says: {}", "{} (as stated)", "Reportedly, {}")
NAME = re.compile(r"\b[A-Z][A-Za-z0-9_-]{2,}\b")


def embed(text: str) -> list[float]:
    """Each word and each word's first five letters move one of the dimensions up or down."""
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        for key in (word, word[:5]):
            digest = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")
            vector[digest % DIMENSIONS] += 1.0 if (digest >> 40) & 1 else -1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def names(text: str) -> list[str]:
    return list(dict.fromkeys(NAME.findall(text)))[:6]


@dataclass
class Model:
    reword: bool = False
    delay: float = 0.0
    _wordings: Any = field(default_factory=lambda: itertools.cycle(WORDINGS))
    _calls: Any = field(default_factory=lambda: itertools.count(1))

    def extract(self, text: str) -> dict[str, Any]:
        """One fact for each sentence of at least eight characters; a sentence in the first person is experience."""
        time.sleep(self.delay)
        facts = []
        for sentence in re.split(r"(?<=[.!?。！？])\s*|\n+", text):
            sentence = sentence.strip()
            if len(sentence) < 8:
                continue
            unknown = dict.fromkeys(("when", "where", "who", "why"), "N/A")
            facts.append(
                unknown
                | {
                    "what": next(self._wordings).format(sentence) if self.reword else sentence,
                    "fact_kind": "conversation",
                    "fact_type": "assistant" if sentence.startswith("I ") else "world",
                    "entities": [{"text": name} for name in names(sentence)],
                    "causal_relations": [],
                }
            )
        return {"facts": facts}

    @staticmethod
    def consolidate(prompt: str) -> dict[str, Any]:
        new = prompt.split("### New facts", 1)[-1].split("### Existing observations", 1)[0]
        by_name: dict[str, list[tuple[str, str]]] = {}
        for fact_id, text in re.findall(rf"\[({UUID})\] (.+?)(?: \(\w+=.*)?$", new, re.M):
            for name in names(text):
                by_name.setdefault(name, []).append((fact_id, text))
        creates = [
            {
                "text": f"About {name}: " + " ".join(text for _, text in facts),
                "source_fact_ids": [fact_id for fact_id, _ in facts],
                "reason": "shared name",
            }
            for name, facts in by_name.items()
            if len(facts) >= 2
        ]
        return {"creates": creates, "updates": [], "deletes": []}

    def _tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{next(self._calls)}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def reflect(self, request: dict[str, Any]) -> dict[str, Any]:
        """Look once, then answer with what was found."""
        messages = request["messages"]
        offered = [tool["function"]["name"] for tool in request["tools"]]
        if isinstance(request.get("tool_choice"), dict):
            offered = [request["tool_choice"]["function"]["name"]]
        query = next((str(entry["content"]) for entry in messages if entry["role"] == "user"), "")[:200]
        results = [str(entry.get("content")) for entry in messages if entry["role"] == "tool"]
        seen = " ".join(results)
        ids = list(dict.fromkeys(re.findall(UUID, seen)))
        if "done" in offered and (ids or len(results) >= 2 or "recall" not in offered):
            found = re.findall(r'"text": ?"([^"]+)"', seen)[:5]
            answer = "Based on memory:\n\n" + "\n".join(f"- {line}" for line in found)
            cited = {"memory_ids": ids[:5], "mental_model_ids": [], "observation_ids": []}
            return self._tool("done", {"answer": answer} | cited)
        if "recall" in offered and results:
            return self._tool("recall", {"reason": "look", "query": query})
        if "answer_ready" in offered and len(results) >= 2:
            return self._tool("answer_ready", {})
        first = offered[0]
        return self._tool(first, {} if first == "answer_ready" else {"reason": "look", "query": query})

    def chat(self, request: dict[str, Any]) -> dict[str, Any]:
        messages = request["messages"]
        system = " ".join(str(entry.get("content") or "") for entry in messages if entry["role"] == "system")
        user = str(messages[-1].get("content") or "")
        if request.get("tools"):
            return self.reflect(request)
        if "facts" in system and "Content:" in user:
            content = json.dumps(self.extract(user.split("Content:", 1)[1].strip()))
        elif "### New facts" in user:
            content = json.dumps(self.consolidate(user))
        elif request.get("response_format"):
            content = json.dumps({"action": "keep", "creates": [], "updates": [], "deletes": []})
        else:
            content = "ok"
        return {"role": "assistant", "content": content}

    def answer(self, path: str, request: dict[str, Any]) -> dict[str, Any]:
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if path.endswith("/embeddings"):
            texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
            rows = [
                {"object": "embedding", "index": index, "embedding": embed(str(text))}
                for index, text in enumerate(texts)
            ]
            return {"object": "list", "model": "stub", "data": rows, "usage": usage}
        if path.endswith("/reword"):
            return {"reword": self.reword}
        message = self.chat(request)
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        return {
            "id": "stub",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": "stub",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": usage,
        }


def serve(model: Model) -> ThreadingHTTPServer:
    """A server on a free loopback port, not yet running."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if self.path.endswith("/reword"):  # not OpenAI's: one server serves both kinds of test
                model.reword = bool(request["on"])
            payload = json.dumps(model.answer(self.path, request)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)
