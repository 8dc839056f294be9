#!/usr/bin/env python3
"""Writes static.json.gz: of the vector that the built-in table gives each text of reference.json.gz, sixteen of its 256 numbers.

The table's rows become a graph of ONNX (look up, add up, bring to length 1), which onnxruntime computes; tokens come from the Python package tokenizers.
Which numbers are kept differs from text to text: every 16th, from the text's place modulo 16. Run it again when the table was made anew.

Usage: generate_static.py FOLDER_OF_ALL_MINILM_L6_V2 [TABLE]
"""
import gzip, json, struct, sys
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

here, model = Path(__file__).resolve().parent, Path(sys.argv[1])
table = Path(sys.argv[2]) if len(sys.argv) > 2 else here.parent.parent / "embed" / "static" / "static-minilm-256.table"

content = table.read_bytes()
assert content[:8] == b"mallardT"
length = struct.unpack("<I", content[12:16])[0]
head = json.loads(content[16:16 + length])
at = 16 + length
vocab = content[at:at + head["vocab"]].decode().split("\n")[:-1]
at += head["vocab"]
scales = np.frombuffer(content, "<f4", head["tokens"], at)
rows = np.frombuffer(content, np.int8, head["tokens"] * head["dims"], at + 4 * head["tokens"]).reshape(head["tokens"], head["dims"])

node, weight = helper.make_node, numpy_helper.from_array
graph = helper.make_graph(
    [node("Gather", ["rows", "ids"], ["found"]), node("ReduceSum", ["found", "axis"], ["sum"], keepdims=0),
     node("ReduceL2", ["sum"], ["length"], axes=[0], keepdims=1), node("Div", ["sum", "length"], ["vector"])],
    "table", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])], [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [head["dims"]])],
    [weight(rows.astype(np.float32) * scales[:, None], "rows"), weight(np.array([0], np.int64), "axis")])
built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
network = onnxruntime.InferenceSession(built.SerializeToString(), providers=["CPUExecutionProvider"])

tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.no_truncation()
unknown = vocab.index("[UNK]")
values = []
for i, row in enumerate(json.loads(gzip.decompress((here / "reference.json.gz").read_bytes()))):
    tokens = tokenizer.encode(row["text"], add_special_tokens=False).tokens
    ids = [k for k in map(vocab.index, tokens) if k != unknown] or [unknown]
    vector = network.run(None, {"ids": np.array(ids, np.int64)})[0]
    values.append([round(float(x), 6) for x in vector[i % 16::16]])
(here / "static.json.gz").write_bytes(gzip.compress(json.dumps(values, separators=(",", ":")).encode(), 9, mtime=0))
