#!/usr/bin/env python3
"""Writes ../all-MiniLM-L6-v2.json: the cosines of the pairs in ../sentences.json by all-MiniLM-L6-v2, as another program computes them.

Tokens come from the Python package tokenizers, the network is computed by onnxruntime, one text at a time, without padding.

Usage: generate.py FOLDER_OF_ALL_MINILM_L6_V2, with numpy==2.4.6 onnxruntime==1.31.1 tokenizers==0.23.3
"""
import json, sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

here, model = Path(__file__).resolve().parent.parent, Path(sys.argv[1])
tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(256)
network = onnxruntime.InferenceSession(str(model / "model.onnx"), providers=["CPUExecutionProvider"])


def embed(text):
    ids = np.array([tokenizer.encode(text).ids], np.int64)
    tokens = network.run(["last_hidden_state"], {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)})[0]
    vector = tokens[0].astype(np.float64).mean(axis=0)
    return vector / np.linalg.norm(vector)


said = json.loads((here / "sentences.json").read_text())
pairs = list(zip(said["plain"], said["plain"][1:]))
for m in said["meaning"]:
    pairs += [(m["text"], m["same"]), (m["text"], m["other"])]
for q in said["questions"]:
    pairs += [(q["question"], q["answer"]), (q["question"], q["other"])]
rows = [{"a": a, "b": b, "cosine": round(float(embed(a) @ embed(b)), 6)} for a, b in pairs]
lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
(here / "all-MiniLM-L6-v2.json").write_text("[\n" + lines + "\n]\n")
