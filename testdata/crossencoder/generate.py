"""Makes the folders one/ and two/, cross-encoders with made-up weights, and pairs.json: what ONNX Runtime says of 200 pairs.

Each is BERT as its exports have it, in small: embeddings of words, places and types, layers of attention, the pooler on the first token, and one logit
or two. Ids come from the package tokenizers, the scores from onnxruntime, one pair at a time.
"""

import json
import pathlib

import numpy as np
import onnxruntime
from onnx import TensorProto, checker, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

here = pathlib.Path(__file__).parent
DIM, HEADS, POSITIONS = 24, 3, 64
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
WORDS = """the a of to in is was and for on with at by from who what where when why how did does she he they it her his which
boat harbour paint oil key silver river old night ship fish garden letter money moved works sister brother coffee tea train
##ed ##ing ##er ##ly""".split()
VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~", *LETTERS, *("##" + c for c in LETTERS),
         *(w for w in WORDS if w != "a")]


class Graph:
    def __init__(self, seed):
        self.rng, self.nodes, self.weights, self.count = np.random.default_rng(seed), [], [], 0

    def weight(self, name, value):
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def normal(self, name, *shape, scale=1.0):
        return self.weight(name, (self.rng.normal(size=shape) * scale).astype(np.float32))

    def op(self, kind, *inputs, **attributes):
        self.count += 1
        name = f"{kind}_{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def linear(self, x, name, width_in, width_out, scale=1.0):
        product = self.op("MatMul", x, self.normal(name + ".w", width_in, width_out, scale=scale / np.sqrt(width_in)))
        return self.op("Add", product, self.normal(name + ".b", width_out, scale=0.1))

    def norm(self, x, name):
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        variance = self.op("ReduceMean", self.op("Pow", centred, "two"), axes=[-1])
        scaled = self.op("Div", centred, self.op("Sqrt", self.op("Add", variance, "epsilon")))
        gain = self.weight(name + ".g", (1 + self.rng.normal(size=DIM) * 0.1).astype(np.float32))
        return self.op("Add", self.op("Mul", scaled, gain), self.normal(name + ".b", DIM, scale=0.1))

    def layer(self, x, mask, name):
        def heads(part):
            return self.op("Reshape", self.linear(x, name + "." + part, DIM, DIM, 1.5), "heads")

        query = self.op("Transpose", heads("query"), perm=[0, 2, 1, 3])
        key = self.op("Transpose", heads("key"), perm=[0, 2, 3, 1])
        value = self.op("Transpose", heads("value"), perm=[0, 2, 1, 3])
        attention = self.op("Softmax", self.op("Add", self.op("Div", self.op("MatMul", query, key), "scale"), mask), axis=-1)
        seen = self.op("Reshape", self.op("Transpose", self.op("MatMul", attention, value), perm=[0, 2, 1, 3]), "flat")
        x = self.norm(self.op("Add", x, self.linear(seen, name + ".seen", DIM, DIM)), name + ".attended")
        wide = self.linear(x, name + ".wide", DIM, 2 * DIM)
        wide = self.op("Mul", self.op("Mul", wide, self.op("Add", self.op("Erf", self.op("Div", wide, "root")), "one")), "half")
        return self.norm(self.op("Add", x, self.linear(wide, name + ".narrow", 2 * DIM, DIM)), name + ".output")


def cross_encoder(folder, seed, layers, labels, config):
    g = Graph(seed)
    for name, value in {"two": 2.0, "one": 1.0, "half": 0.5, "root": np.sqrt(2), "epsilon": 1e-12, "low": np.finfo(np.float32).min,
                        "scale": np.sqrt(DIM / HEADS)}.items():
        g.weight(name, np.float32(value))
    for name, value in {"zero": [0], "first": [1], "heads": [0, 0, HEADS, DIM // HEADS], "flat": [0, 0, DIM], "axes": [1, 2]}.items():
        g.weight(name, np.int64(value))
    g.weight("length", np.int64(1))
    g.weight("begin", np.int64(0))
    words = g.op("Gather", g.normal("words", len(VOCAB), DIM), "input_ids")
    kinds = g.op("Gather", g.normal("kinds", 2, DIM), "token_type_ids")
    length = g.op("Unsqueeze", g.op("Gather", g.op("Shape", "input_ids"), "length"), "zero")
    places = g.op("Slice", g.normal("places", 1, POSITIONS, DIM, scale=0.5), "zero", length, "first")
    x = g.norm(g.op("Add", g.op("Add", words, kinds), places), "embedding")
    mask = g.op("Cast", g.op("Unsqueeze", "attention_mask", "axes"), to=TensorProto.FLOAT)
    mask = g.op("Mul", g.op("Sub", "one", mask), "low")
    for n in range(layers):
        x = g.layer(x, mask, f"layer{n}")
    pooled = g.op("Tanh", g.linear(g.op("Gather", x, "begin", axis=1), "pooler", DIM, DIM))
    g.nodes.append(helper.make_node("Identity", [g.linear(pooled, "classifier", DIM, labels, 3.0)], ["logits"]))

    def ids(name):
        return helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])

    graph = helper.make_graph(g.nodes, "tiny", [ids("input_ids"), ids("attention_mask"), ids("token_type_ids")],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", labels])], g.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    checker.check_model(model)
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "vocab.txt").write_text("\n".join(VOCAB) + "\n")
    config = {"architectures": ["BertForSequenceClassification"], "hidden_size": DIM, "num_attention_heads": HEADS, "num_hidden_layers": layers,
              "max_position_embeddings": POSITIONS, "vocab_size": len(VOCAB), "pad_token_id": 0, **config}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    return onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])


one = cross_encoder(here / "one", 11, 2, 1, {"id2label": {"0": "LABEL_0"}, "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}})
two = cross_encoder(here / "two", 19, 1, 2, {"id2label": {"0": "no", "1": "yes"}})

tokenizer = Tokenizer(models.WordPiece({t: i for i, t in enumerate(VOCAB)}, unk_token="[UNK]", max_input_chars_per_word=100))
tokenizer.normalizer = normalizers.BertNormalizer()
tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()


def encode(query, text):
    """What is longer than the model's places loses the end of the text, which keeps a quarter of the room, and then that of the query."""
    room = POSITIONS - 3
    asked, said = (tokenizer.encode(s, add_special_tokens=False).ids for s in (query, text))
    said = said[:max(room - len(asked), room // 4)]
    asked = asked[:room - len(said)]
    first, second = [2, *asked, 3], [*said, 3]
    return first + second, [0] * len(first) + [1] * len(second)


def logits(session, ids, types):
    return session.run(None, {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, len(ids)), np.int64),
                              "token_type_ids": np.array([types], np.int64)})[0][0].astype(np.float64)


def logistic(x):
    return float(1 / (1 + np.exp(-x)))


QUERIES = ["Where did she hide the silver key?", "who paints in oil", "When was the old ship moved?", "How does coffee differ from tea?",
           "why", "Zoë's garden: what is in it?", "what did the letter [SEP] say?", "", "x" * 120, "who was at the harbour " * 12]
TEXTS = ["She hid the silver key by the river.", "He paints boats in oil.", "The ship was moved at night to the old harbour.", "Tea is for her sister.",
         "", "ok", "?!", "A literal [SEP] and [CLS] and ##ing", "Zoë drank café au lait: 4,50 €", "東京 to 京都 by train", "\u00a0tabs\tand\nlines\u200d",
         "working " * 40, "the fish and the boat and the money " * 9, "brother's letter-box (no. 42)", "moved_to=\"garden\"; works()", "silver key", "key silver",
         "Where did she hide the silver key?", "y" * 101, "night, night, night"]
rows = []
for query in QUERIES:
    for text in TEXTS:
        ids, types = encode(query, text)
        assert len(ids) <= POSITIONS
        second = logits(two, ids, types)
        rows.append({"query": query, "text": text, "one": round(logistic(logits(one, ids, types)[0]), 7), "two": round(logistic(second[1] - second[0]), 7)})
(here / "pairs.json").write_text(json.dumps(rows, separators=(",", ":")).replace("},{", "},\n{") + "\n")
print(len(rows), "pairs; one:", np.percentile([r["one"] for r in rows], [0, 25, 50, 75, 100]), "two:", np.percentile([r["two"] for r in rows], [0, 25, 50, 75, 100]))
