#!/usr/bin/env python3
"""Writes reference.json.gz: sentence vectors of all-MiniLM-L6-v2 by another road than this package's.

Tokens come from the Python package `tokenizers`, the network is computed by the numpy evaluator of the package `onnx`,
one text at a time: no ONNX Runtime, no batch, no padding.

Usage: generate.py FOLDER_OF_ALL_MINILM_L6_V2   (needs `pip install tokenizers==0.23.3 onnx==1.23.2`)
"""
import gzip, json, sys
from pathlib import Path

import numpy as np
from onnx.reference import ReferenceEvaluator
from tokenizers import Tokenizer

here, model = Path(__file__).resolve().parent, Path(sys.argv[1])

NOUNS = ["the ferry", "a retired pilot", "my neighbour's cat", "the compiler", "our third meeting", "an olive tree", "the invoice"]
VERBS = ["was delayed by", "quietly admired", "never forgave", "is older than", "came after", "depends on"]
TEXTS = [
    "", "ok", "?", "Hello, World!", "Zoë's café in Zürich costs 25 €.", "東京 is not Kyoto", "Привет, мир", "a" * 150,
    "def add(a, b): return a + b", "see https://example.org/a_b?x=1#top", "👋 hi 👩\u200d💻", "line one\nline two\ttabbed",
    "unaffordability antidisestablishmentarianism", "[SEP] inside [MASK]", "How long is a piece of string? " * 60,
] + [f"{a.capitalize()} {v} {b}." for i, a in enumerate(NOUNS) for j, v in enumerate(VERBS) for b in [NOUNS[(i + j + 1) % 7]] if (i + j) % 6 != 0]

tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(256)
network = ReferenceEvaluator(str(model / "model.onnx"))
rows = []
for text in TEXTS:
    ids = np.array([tokenizer.encode(text).ids], np.int64)
    tokens = network.run(["last_hidden_state"], {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)})[0]
    vector = tokens[0].astype(np.float64).mean(axis=0)
    rows.append({"text": text, "vector": [round(float(x), 6) for x in vector / np.linalg.norm(vector)]})
(here / "reference.json.gz").write_bytes(gzip.compress(json.dumps(rows, separators=(",", ":")).encode(), 9, mtime=0))
