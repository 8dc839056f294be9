"""Makes the model folder tiny/, the graphs of graphs/ and tiny.json.

A sentence transformer of one layer with made-up weights, built from the operations that BERT's exports have; and the vectors
that ONNX's own reference evaluator computes with it, one text at a time. Needs the packages numpy and onnx.
"""

import json
import pathlib

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

here = pathlib.Path(__file__).parent
rng = np.random.default_rng(7)
DIM, HEADS, POSITIONS = 16, 2, 64
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~", *LETTERS, *("##" + c for c in LETTERS)]


class Graph:
    def __init__(self):
        self.nodes, self.weights, self.count = [], [], 0

    def weight(self, name, value):
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"{kind}_{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def linear(self, x, name, width_in, width_out):
        w = self.weight(name + ".w", (rng.normal(size=(width_in, width_out)) / np.sqrt(width_in)).astype(np.float32))
        b = self.weight(name + ".b", (rng.normal(size=width_out) * 0.1).astype(np.float32))
        return self.op("Add", self.op("MatMul", x, w), b)

    def norm(self, x, name):
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        variance = self.op("ReduceMean", self.op("Pow", centred, "two"), axes=[-1])
        scaled = self.op("Div", centred, self.op("Sqrt", self.op("Add", variance, "epsilon")))
        g = self.weight(name + ".g", (1 + rng.normal(size=DIM) * 0.1).astype(np.float32))
        return self.op("Mul", scaled, g)

    def save(self, path, inputs, outputs):
        graph = helper.make_graph(self.nodes, "tiny", inputs, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        checker.check_model(model)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(model.SerializeToString())


def ids(name):
    return helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])


def floats(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


def bert():
    g = Graph()
    for name, value in {"two": 2.0, "one": 1.0, "half": 0.5, "root": np.sqrt(2), "epsilon": 1e-12, "low": np.finfo(np.float32).min,
                        "scale": np.sqrt(DIM / HEADS)}.items():
        g.weight(name, np.float32(value))
    for name, value in {"zero": [0], "first": [1], "last": [2], "heads": [0, 0, HEADS, DIM // HEADS], "flat": [0, 0, DIM]}.items():
        g.weight(name, np.int64(value))
    g.weight("index", np.int64(1))
    words = g.op("Gather", g.weight("words", rng.normal(size=(len(VOCAB), DIM)).astype(np.float32)), "input_ids")
    kinds = g.op("Gather", g.weight("kinds", rng.normal(size=(2, DIM)).astype(np.float32)), "token_type_ids")
    length = g.op("Unsqueeze", g.op("Gather", g.op("Shape", "input_ids"), "index"), "zero")
    places = g.op("Slice", g.weight("places", (rng.normal(size=(1, POSITIONS, DIM)) * 0.5).astype(np.float32)), "zero", length, "first")
    x = g.norm(g.op("Add", g.op("Add", words, kinds), places), "embedding")

    mask = g.op("Cast", g.op("Unsqueeze", "attention_mask", g.weight("axes", np.int64([1, 2]))), to=TensorProto.FLOAT)
    mask = g.op("Mul", g.op("Sub", "one", mask), "low")

    def heads(name):
        return g.op("Reshape", g.linear(x, name, DIM, DIM), "heads")

    query = g.op("Transpose", heads("query"), perm=[0, 2, 1, 3])
    key = g.op("Transpose", heads("key"), perm=[0, 2, 3, 1])
    value = g.op("Transpose", heads("value"), perm=[0, 2, 1, 3])
    attention = g.op("Softmax", g.op("Add", g.op("Div", g.op("MatMul", query, key), "scale"), mask), axis=-1)
    seen = g.op("Reshape", g.op("Transpose", g.op("MatMul", attention, value), perm=[0, 2, 1, 3]), "flat")
    x = g.norm(g.op("Add", x, g.linear(seen, "seen", DIM, DIM)), "attended")
    wide = g.linear(x, "wide", DIM, 2 * DIM)
    wide = g.op("Mul", g.op("Mul", wide, g.op("Add", g.op("Erf", g.op("Div", wide, "root")), "one")), "half")
    x = g.norm(g.op("Add", x, g.linear(wide, "narrow", 2 * DIM, DIM)), "output")
    g.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
    g.save(here / "tiny" / "model.onnx", [ids("input_ids"), ids("attention_mask"), ids("token_type_ids")],
           [floats("last_hidden_state", "batch", "length", DIM)])


def small(name, inputs, outputs, build):
    """A graph that looks up a vector per token, and what build makes of it."""
    g = Graph()
    words = g.op("Gather", g.weight("words", rng.normal(size=(len(VOCAB), 4)).astype(np.float32)), "input_ids")
    build(g, words)
    g.save(here / "graphs" / (name + ".onnx"), inputs, outputs)


def as_output(name, *more):
    def build(g, words):
        for kind, attributes in more:
            words = g.op(kind, words, **attributes)
        g.nodes.append(helper.make_node("Identity", [words], [name]))
    return build


def quantised(g, words):
    g.weight("w", rng.integers(-9, 9, size=(4, 4)).astype(np.int8))
    x, scale, zero = g.op("DynamicQuantizeLinear", words, outputs=3)
    y = g.op("Cast", g.op("MatMulInteger", x, "w", zero), to=TensorProto.FLOAT)
    g.nodes.append(helper.make_node("Mul", [y, scale], ["last_hidden_state"]))


bert()
(here / "tiny" / "vocab.txt").write_text("\n".join(VOCAB) + "\n")
(here / "tiny" / "config.json").write_text(json.dumps({"max_position_embeddings": POSITIONS, "vocab_size": len(VOCAB), "pad_token_id": 0}) + "\n")

usual = [ids("input_ids"), ids("attention_mask")]
tokens = floats("last_hidden_state", "batch", "length", 4)
small("pooled", usual, [floats("sentence_embedding", "batch", 4)], as_output("sentence_embedding", ("ReduceMean", {"axes": [1], "keepdims": 0})))
small("positions", [*usual, ids("position_ids")], [tokens], as_output("last_hidden_state"))
small("no_mask", [ids("input_ids")], [tokens], as_output("last_hidden_state"))
small("no_dims", usual, [floats("last_hidden_state", "batch", "length", "dims")], as_output("last_hidden_state"))
small("other_output", usual, [floats("logits", "batch", 4)], as_output("logits", ("ReduceMean", {"axes": [1], "keepdims": 0})))
small("zeros", usual, [tokens], as_output("last_hidden_state", ("Floor", {}), ("Sin", {}), ("Floor", {}), ("Abs", {}), ("Neg", {}), ("Relu", {})))
small("half", usual, [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT16, ["batch", "length", 4])],
      as_output("last_hidden_state", ("Cast", {"to": TensorProto.FLOAT16})))
small("unknown_op", usual, [tokens], as_output("last_hidden_state", ("Celu", {})))
small("quantised", usual, [tokens], quantised)

network = ReferenceEvaluator(str(here / "tiny" / "model.onnx"))
rows = []
for text in ["", "a", "ships", "the tide turns at noon", "a cart, a mule & 3 sacks of rye", "why?", "x" * 61]:
    pieces = [piece for word in text.replace(",", " ,").replace("?", " ?").split() for piece in [word[0], *("##" + c for c in word[1:])]]
    sequence = np.array([[VOCAB.index(t) for t in ["[CLS]", *pieces, "[SEP]"]]], np.int64)
    vector = network.run(None, {"input_ids": sequence, "attention_mask": np.ones_like(sequence), "token_type_ids": np.zeros_like(sequence)})[0]
    vector = vector[0].astype(np.float64).mean(axis=0)
    rows.append({"text": text, "vector": [round(float(x), 6) for x in vector / np.linalg.norm(vector)]})
(here / "tiny.json").write_text(json.dumps(rows, separators=(",", ":")).replace("},{", "},\n{") + "\n")
