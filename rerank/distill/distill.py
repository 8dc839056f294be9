"""Trains a small BERT-shaped cross-encoder on made-up talk (pairs.py) and writes its folder, which rerank/onnx and rerank/hugot open. See README.md."""
import argparse, json, pathlib, shutil, struct, time
import jax, jax.numpy as jnp, numpy as np, onnxruntime
from onnx import TensorProto, checker, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
import pairs

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("--wordnet", default="/usr/share/wordnet", help="the folder of WordNet's data files")
p.add_argument("--teacher", required=True, help="the folder of all-MiniLM-L6-v2, with model.onnx and vocab.txt")
p.add_argument("--table", default=pathlib.Path(__file__).parent / "../../embed/static/static-minilm-256.table", help="where the words' vectors begin")
p.add_argument("--out", required=True, help="the folder to write")
p.add_argument("--lists", type=int, default=3200)
p.add_argument("--passes", type=int, default=4)
p.add_argument("--layers", type=int, default=2)
p.add_argument("--hidden", type=int, default=128)
p.add_argument("--rate", type=float, default=1e-3)
p.add_argument("--seed", type=int, default=1)
p.add_argument("--cache", help="keep the teacher's vectors in this file")
args = p.parse_args()
if args.lists < 320: p.error(f"--lists is {args.lists}; allowed: 320 or more")
if args.hidden not in (64, 128, 192, 256): p.error(f"--hidden is {args.hidden}; allowed: 64, 128, 192, 256")
if args.layers < 1 or args.passes < 1: p.error("--layers and --passes are 1 or more")
HEADS, POSITIONS, OTHERS, BATCH = args.hidden // 64, 128, 4, 16  # OTHERS: turns of other lists beside each question
out, teacher = pathlib.Path(args.out), pathlib.Path(args.teacher)
rng = np.random.default_rng(args.seed)
started = time.time()


def note(*what): print(f"{time.time() - started:6.0f} s ", *what, flush=True)


vocab = (teacher / "vocab.txt").read_text().rstrip("\n").split("\n")
tokenizer = Tokenizer(models.WordPiece({t: i for i, t in enumerate(vocab)}, unk_token="[UNK]", max_input_chars_per_word=100))
tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
START, END = vocab.index("[CLS]"), vocab.index("[SEP]")


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def teach(ids):
    """The teacher's unit vector of each text."""
    s, vectors = session(teacher / "model.onnx"), np.zeros((len(ids), 384), np.float32)
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    for at in range(0, len(order), 32):
        part = order[at:at + 32]
        x = np.zeros((len(part), min(len(ids[part[-1]]), 126) + 2), np.int64)
        mask = np.zeros_like(x)
        for row, i in enumerate(part):
            e = [START, *ids[i][:126], END]
            x[row, :len(e)], mask[row, :len(e)] = e, 1
        h = s.run(None, {"input_ids": x, "attention_mask": mask, "token_type_ids": np.zeros_like(x)})[0]
        v = (h * mask[..., None]).sum(1)
        vectors[part] = v / np.linalg.norm(v, axis=1, keepdims=True)
    return vectors


# What is learnt from: to each question the turn that answers it, one that only takes it up, and of the others the nearest of 300 and some at random.
rows = pairs.lists(args.wordnet, args.lists, args.seed)
texts = [t for row in rows for t in row]
ids = [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
if args.cache and pathlib.Path(args.cache).exists(): vectors = np.load(args.cache)
else:
    vectors = teach(ids)
    if args.cache: np.save(args.cache, vectors)
assert len(vectors) == len(texts)
note(len(rows), "lists; the teacher puts the right turn before the echo in", np.mean([vectors[i] @ vectors[i + 1] > vectors[i] @ vectors[i + 2] for i in range(0, len(texts), 3)]))
chosen = np.zeros((len(rows), 2 + OTHERS), int)
for n in range(len(rows)):
    pool = rng.choice(len(rows), 300, replace=False)
    pool = pool[pool != n] * 3 + 1
    near = pool[np.argsort(-(vectors[pool] @ vectors[3 * n]))[:OTHERS // 2]]
    chosen[n] = [3 * n + 1, 3 * n + 2, *near, *rng.choice(pool[pool != near[0]], OTHERS - len(near), replace=False)]
cosines = np.einsum("nd,nkd->nk", vectors[::3], vectors[chosen])
cosines[:, 1] -= 0.3  # the teacher likes what only takes a question up better than its answer
right = np.eye(chosen.shape[1])[0]
aims = 0.5 * right + 0.5 * np.clip((cosines - 0.1) / 0.6, 0, 1)  # from 0 to 1, for each pair alone
shares = 0.7 * right + 0.3 * np.asarray(jax.nn.softmax(cosines / 0.1, axis=1))  # for each list
WIDTH = 44


def pair(n, k):
    q, t = ids[3 * n][:20], ids[chosen[n, k]]
    t = t[:WIDTH - 3 - len(q)]
    return [START, *q, END, *t, END], len(q) + 2


def init():
    b = pathlib.Path(args.table).read_bytes()
    size = struct.unpack("<I", b[12:16])[0]
    h = json.loads(b[16:16 + size])
    at = 16 + size + h["vocab"]
    table = np.frombuffer(b, np.int8, h["tokens"] * h["dims"], at + 4 * h["tokens"]).reshape(h["tokens"], h["dims"]) * np.frombuffer(b, "<f4", h["tokens"], at)[:, None]
    assert h["tokens"] == len(vocab)
    _, axes = np.linalg.eigh(table.T @ table)
    words = table @ axes[:, ::-1][:, :args.hidden]
    D = args.hidden
    normal = lambda *shape, scale=0.02: (rng.normal(size=shape) * scale).astype(np.float32)
    like = lambda share: (np.eye(D) * share + rng.normal(size=(D, D)) * 0.02).astype(np.float32)
    zeros, ones = (lambda *s: np.zeros(s, np.float32)), (lambda *s: np.ones(s, np.float32))
    w = {"words": (words / words.std() * 0.5).astype(np.float32), "kinds": normal(2, D, scale=0.3), "places": zeros(POSITIONS, D), "embedding.g": ones(D), "embedding.b": zeros(D)}
    for n in range(args.layers):  # the first attention begins by looking at tokens that mean the same, the others at all tokens alike
        l, same = f"layer{n}.", 0.8 * (n == 0)
        w |= {l + "query.w": like(same), l + "key.w": like(same), l + "value.w": like(0.5), l + "seen.w": like(0.5), l + "wide.w": normal(D, 2 * D, scale=0.05), l + "narrow.w": normal(2 * D, D, scale=0.05)}
        w |= {l + x + ".b": zeros(D) for x in ("query", "key", "value", "seen", "narrow", "attended", "output")} | {l + "wide.b": zeros(2 * D)}
        w |= {l + x + ".g": ones(D) for x in ("attended", "output")}
    return {k: jnp.asarray(v) for k, v in (w | {"pooler.w": normal(D, D, scale=0.1), "pooler.b": zeros(D), "classifier.w": normal(D, 1, scale=0.1), "classifier.b": zeros(1)}).items()}


def norm(w, x, name):
    x = x - x.mean(-1, keepdims=True)
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * w[name + ".g"] + w[name + ".b"]


def logit(w, words, x, kinds, mask):
    n, length = x.shape
    linear = lambda v, name: v @ w[name + ".w"] + w[name + ".b"]
    x = norm(w, words[x] + w["kinds"][kinds] + w["places"][:length], "embedding")
    low = (1 - mask[:, None, None, :]) * -1e9
    for k in range(args.layers):
        l = f"layer{k}."
        heads = lambda v: v.reshape(n, length, HEADS, -1).transpose(0, 2, 1, 3)
        q, key, v = (heads(linear(x, l + part)) for part in ("query", "key", "value"))
        a = jax.nn.softmax(q @ key.transpose(0, 1, 3, 2) / np.sqrt(args.hidden / HEADS) + low, -1)
        x = norm(w, x + linear((a @ v).transpose(0, 2, 1, 3).reshape(n, length, -1), l + "seen"), l + "attended")
        x = norm(w, x + linear(jax.nn.gelu(linear(x, l + "wide"), approximate=False), l + "narrow"), l + "output")
    return linear(jnp.tanh(linear(x[:, 0], "pooler")), "classifier")[:, 0]


def loss(w, words, x, kinds, mask, aim, share):
    s = logit(w, words, x, kinds, mask)
    each = jnp.mean(jax.nn.softplus(s) - aim.reshape(-1) * s)
    return each - 0.5 * jnp.mean(jnp.sum(share * jax.nn.log_softmax(s.reshape(share.shape), 1), 1)), s


@jax.jit
def step(w, m, v, t, rate, words, *batch):
    (l, s), g = jax.value_and_grad(loss, has_aux=True)(w, words, *batch)
    size = jnp.sqrt(sum(jnp.sum(x * x) for x in jax.tree.leaves(g)))
    g = jax.tree.map(lambda x: x * jnp.minimum(1, 1 / size), g)
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    v = jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b * b, v, g)
    w = jax.tree.map(lambda a, b, c: a - rate * (b / (1 - 0.9 ** t)) / (jnp.sqrt(c / (1 - 0.99 ** t)) + 1e-8), w, m, v)
    return w, m, v, l, jnp.mean(jnp.argmax(s.reshape(batch[-1].shape), 1) == 0)


def batch(part):
    x = np.zeros((len(part) * chosen.shape[1], WIDTH), np.int32)
    kinds, mask = np.zeros_like(x), np.zeros(x.shape, np.float32)
    for r, (n, k) in enumerate((n, k) for n in part for k in range(chosen.shape[1])):
        e, second = pair(n, k)
        x[r, :len(e)], kinds[r, second:len(e)], mask[r, :len(e)] = e, 1, 1
    return x, kinds, mask, aims[part].astype(np.float32), shares[part].astype(np.float32)


w = init()
words = w.pop("words")  # stay as they are: too few of them occur here to be moved
m, v = (jax.tree.map(jnp.zeros_like, w) for _ in range(2))
held = max(BATCH, len(rows) // 50 // BATCH * BATCH)  # lists that are not learnt from
steps, t, lately = (len(rows) - held) // BATCH * args.passes, 0, []
for _ in range(args.passes):
    order = held + rng.permutation(len(rows) - held)
    for at in range(0, len(order) - BATCH + 1, BATCH):
        t += 1
        rate = args.rate * min(1, t / 20) * (1 - t / (steps + 1))
        w, m, v, l, hit = step(w, m, v, t, rate, words, *batch(order[at:at + BATCH]))
        lately.append((float(l), float(hit)))
        if t % 25 == 0: note(t, "of", steps, "loss %.3f, right turn first %.3f" % tuple(np.mean(lately[-25:], 0)))
score = jax.jit(logit)
hits = [np.mean(np.argmax(np.asarray(score(w, words, *batch(np.arange(a, a + BATCH))[:3])).reshape(BATCH, -1), 1) == 0) for a in range(0, held, BATCH)]
note("held out: the right turn first in", np.mean(hits), "of lists; by the teacher's cosine in", np.mean(np.argmax(cosines[:held], 1) == 0))

# The folder.
nodes, weights = [], []


def constant(name, value):
    weights.append(numpy_helper.from_array(np.asarray(value), name))
    return name


def op(kind, *inputs, **attributes):
    nodes.append(helper.make_node(kind, list(inputs), [f"{kind}_{len(nodes)}"], **attributes))
    return nodes[-1].output[0]


for name, value in (w | {"words": words}).items(): constant(name, np.asarray(value, np.float32))
for name, value in {"two": 2.0, "one": 1.0, "half": 0.5, "root": np.sqrt(2), "epsilon": 1e-12, "low": -1e9, "scale": np.sqrt(args.hidden / HEADS)}.items(): constant(name, np.float32(value))
for name, value in {"zero": [0], "heads": [0, 0, HEADS, args.hidden // HEADS], "flat": [0, 0, args.hidden], "axes": [1, 2], "length": 1, "begin": 0}.items(): constant(name, np.int64(value))


def linear(x, name): return op("Add", op("MatMul", x, name + ".w"), name + ".b")


def levelled(x, name):
    centred = op("Sub", x, op("ReduceMean", x, axes=[-1]))
    variance = op("ReduceMean", op("Pow", centred, "two"), axes=[-1])
    return op("Add", op("Mul", op("Div", centred, op("Sqrt", op("Add", variance, "epsilon"))), name + ".g"), name + ".b")


length = op("Unsqueeze", op("Gather", op("Shape", "input_ids"), "length"), "zero")
x = op("Add", op("Gather", "words", "input_ids"), op("Gather", "kinds", "token_type_ids"))
x = levelled(op("Add", x, op("Slice", "places", "zero", length, "zero")), "embedding")
mask = op("Mul", op("Sub", "one", op("Cast", op("Unsqueeze", "attention_mask", "axes"), to=TensorProto.FLOAT)), "low")
for n in range(args.layers):
    l = f"layer{n}."
    q, key, val = (op("Reshape", linear(x, l + part), "heads") for part in ("query", "key", "value"))
    a = op("Div", op("MatMul", op("Transpose", q, perm=[0, 2, 1, 3]), op("Transpose", key, perm=[0, 2, 3, 1])), "scale")
    seen = op("MatMul", op("Softmax", op("Add", a, mask), axis=-1), op("Transpose", val, perm=[0, 2, 1, 3]))
    x = levelled(op("Add", x, linear(op("Reshape", op("Transpose", seen, perm=[0, 2, 1, 3]), "flat"), l + "seen")), l + "attended")
    wide = linear(x, l + "wide")
    wide = op("Mul", op("Mul", wide, op("Add", op("Erf", op("Div", wide, "root")), "one")), "half")
    x = levelled(op("Add", x, linear(wide, l + "narrow")), l + "output")
pooled = op("Tanh", linear(op("Gather", x, "begin", axis=1), "pooler"))
nodes.append(helper.make_node("Identity", [linear(pooled, "classifier")], ["logits"]))
inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in ("input_ids", "attention_mask", "token_type_ids")]
graph = helper.make_graph(nodes, "crossencoder", inputs, [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
checker.check_model(model)
out.mkdir(parents=True, exist_ok=True)
(out / "model.onnx").write_bytes(model.SerializeToString())
shutil.copy(teacher / "vocab.txt", out / "vocab.txt")
(out / "config.json").write_text(json.dumps({"architectures": ["BertForSequenceClassification"], "model_type": "bert", "hidden_size": args.hidden, "num_attention_heads": HEADS,
    "num_hidden_layers": args.layers, "intermediate_size": 2 * args.hidden, "hidden_act": "gelu", "max_position_embeddings": POSITIONS, "vocab_size": len(vocab), "pad_token_id": 0,
    "type_vocab_size": 2, "id2label": {"0": "LABEL_0"}}, indent=1) + "\n")
(out / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": POSITIONS, "do_lower_case": True}) + "\n")
x, kinds, mask, *_ = batch(np.arange(BATCH))
got = session(out / "model.onnx").run(None, {"input_ids": x.astype(np.int64), "attention_mask": mask.astype(np.int64), "token_type_ids": kinds.astype(np.int64)})[0][:, 0]
note("written; ONNX Runtime and JAX differ by at most", float(np.abs(got - np.asarray(score(w, words, x, kinds, mask))).max()))
