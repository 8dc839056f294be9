#!/usr/bin/env python3
"""Writes reference.json.gz: a thousand texts, and of the vector that all-MiniLM-L6-v2 gives each, sixteen of its 384 numbers.

Tokens come from the Python package tokenizers, the network is computed by onnxruntime, one text at a time, without padding. Which sixteen numbers are kept
differs from text to text, so that all of them are held: every 24th, from the text's place modulo 24.

Usage: generate.py FOLDER_OF_ALL_MINILM_L6_V2
"""
import gzip, itertools, json, sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

here, model = Path(__file__).resolve().parent, Path(sys.argv[1])

WHO = ["The harbour master", "My aunt Zoë", "Nobody in the office", "The night nurse", "A cellist from Kraków", "Our landlord", "The new release", "Team blue"]
DID = ["postponed", "finally paid for", "never mentioned", "is allergic to", "wrote 3 pages about", "can't stand", "inherited", "moved"]
WHAT = ["the ferry to Tórshavn", "a box of pears", "ticket DB-42", "the second violin", "v1.2.3 of the planner", "her grandmother's house", "next Tuesday's meeting", "14.50 €"]
END = [".", "?", "!", ", as far as I know.", " because of the fog.", " (again)", " — or so they say.", " 😀"]
ODD = ["", " ", "ok", "?", "東京 is not Kyoto", "Привет, мир", "한국어", "a" * 150, "def add(a, b): return a + b", "see https://example.org/a_b?x=1#top",
       "[SEP] inside [MASK]", "one\ntwo\tthree", "İstanbul ﬁn ﷺ", "e\u0301\u0323 é", "never ending " * 200, "x\u00a0y\u200dz\u2028w"]


def texts():
    yield from ODD
    for file, keys in [("messages", ["text"]), ("memories", ["text"]), ("questions", ["question", "query", "text"])]:
        for row in map(json.loads, (here.parent / "demo" / (file + ".jsonl")).read_text().splitlines()):
            yield from [row[k] for k in keys if k in row][:1]
    for i, (a, b, c) in enumerate(itertools.product(WHO, DID, WHAT)):
        yield f"{a} {b} {c}{END[(i + i // 8) % 8]}"
    for i, (a, b) in enumerate(itertools.product(WHO, DID)):
        for n in range(4):
            yield f"{a} {b} {WHAT[(i + n) % 8]}, and {WHO[(i + n + 3) % 8].lower()} {DID[(i + n) % 8]} {WHAT[(i + 5 * n) % 8]}{END[n]}"


tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(256)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
network = onnxruntime.InferenceSession(str(model / "model.onnx"), options, providers=["CPUExecutionProvider"])
rows = []
for i, text in enumerate(itertools.islice(texts(), 1000)):
    ids = np.array([tokenizer.encode(text).ids], np.int64)
    tokens = network.run(["last_hidden_state"], {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)})[0]
    vector = tokens[0].astype(np.float64).mean(axis=0)
    rows.append({"text": text, "values": [round(float(x), 6) for x in (vector / np.linalg.norm(vector))[i % 24::24]]})
assert len(rows) == 1000
(here / "reference.json.gz").write_bytes(gzip.compress(json.dumps(rows, separators=(",", ":"), ensure_ascii=False).encode(), 9, mtime=0))
