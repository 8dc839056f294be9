#!/usr/bin/env python3
"""Measures other ways to find memories by words and vectors beside Mallard, on the data of `memctl bench recall`.

README.md, in this folder, says how to run it and what is compared.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 10  # hits that are shown, Mallard's default
POOL = 20  # that each channel gives to be fused, Mallard's for memories
WARM_UPS = 5  # questions before those that count
PROJECT = Path(__file__).resolve().parents[2]


class Corpus:
    """The memories and questions that the bench of Mallard makes, as TestCorpusFiles wrote them."""

    def __init__(self, folder):
        import numpy

        self.texts = [json.loads(line)["text"] for line in open(folder / "memories.jsonl")]
        questions = [json.loads(line) for line in open(folder / "questions.jsonl")]
        self.words = [q["words"] for q in questions]
        self.vectors = numpy.fromfile(folder / "memories.f32", dtype="<f4").reshape(len(self.texts), -1)
        self.asked = numpy.fromfile(folder / "questions.f32", dtype="<f4").reshape(len(questions), -1)

    def nearest(self, i):
        """The memories nearest to question i, by all of their cosines: vectors have length 1."""
        cosines = self.vectors @ self.asked[i]
        return set((-cosines).argsort()[:POOL].tolist())


def fuse(*channels):
    """Reciprocal rank fusion, with the constant of its paper."""
    scores = {}
    for channel in channels:
        for rank, no in enumerate(channel, 1):
            scores[no] = scores.get(no, 0) + 1 / (60 + rank)
    return sorted(scores, key=scores.get, reverse=True)[:LIMIT]


class SQLite:
    name = "sqlite-vec + FTS5"

    def __init__(self, corpus, folder):
        import apsw
        import sqlite_vec

        self.db = apsw.Connection(str(folder / "peer.sqlite"))
        self.db.enable_load_extension(True)
        self.db.load_extension(sqlite_vec.loadable_path())
        self.db.execute("PRAGMA journal_mode = wal; PRAGMA synchronous = normal; PRAGMA mmap_size = 8000000000")
        dims = corpus.vectors.shape[1]
        self.db.execute("CREATE TABLE memory (id INTEGER PRIMARY KEY, text TEXT)")
        self.db.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='memory', content_rowid='id', tokenize='porter unicode61')")
        self.db.execute(f"CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{dims}] distance_metric=cosine)")
        with self.db:
            self.db.executemany("INSERT INTO memory VALUES (?, ?)", enumerate(corpus.texts))
            self.db.executemany("INSERT INTO vectors (rowid, embedding) VALUES (?, ?)", ((i, v.tobytes()) for i, v in enumerate(corpus.vectors)))
        self.db.execute("INSERT INTO words (words) VALUES ('rebuild')")

    def by_words(self, words, limit):
        match = " OR ".join(f'"{word}"' for word in words)
        return [no for (no,) in self.db.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (match, limit))]

    def by_vector(self, vector, limit):
        found = self.db.execute("SELECT rowid FROM vectors WHERE embedding MATCH ? AND k = ?", (vector.tobytes(), limit))
        return [no for (no,) in found]

    def show(self, numbers):
        marks = ", ".join("?" * len(numbers))
        return list(self.db.execute(f"SELECT id, text FROM memory WHERE id IN ({marks})", numbers))

    def hybrid(self, words, vector):
        return self.show(fuse(self.by_words(words, POOL), self.by_vector(vector, POOL)))

    def lexical(self, words, vector):
        return self.show(self.by_words(words, LIMIT))

    def vector(self, words, vector):
        return self.show(self.by_vector(vector, LIMIT))

    def pool(self, vector):
        return self.by_vector(vector, POOL)


class Lance:
    name = "LanceDB, no vector index"

    def __init__(self, corpus, folder):
        import lancedb
        import pyarrow
        from lancedb.rerankers import RRFReranker

        self.reranker = RRFReranker()
        dims = corpus.vectors.shape[1]
        vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(corpus.vectors.reshape(-1)), dims)
        rows = pyarrow.table({"id": pyarrow.array(range(len(corpus.texts))), "text": corpus.texts, "vector": vectors})
        self.table = lancedb.connect(folder / "peer.lance").create_table("memory", rows)
        self.table.create_fts_index("text", stem=True, remove_stop_words=True, language="English")

    def hybrid(self, words, vector):
        search = self.table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
        search = search.vector(vector).text(" ".join(words)).distance_type("cosine")
        return search.rerank(self.reranker).select(["id", "text"]).limit(LIMIT).to_list()

    def lexical(self, words, vector):
        return self.table.search(" ".join(words), query_type="fts").select(["id", "text"]).limit(LIMIT).to_list()

    def vector(self, words, vector):
        return self.nearest(vector, LIMIT)

    def nearest(self, vector, limit):
        search = self.table.search(vector, vector_column_name="vector").distance_type("cosine")
        return search.select(["id", "text"]).limit(limit).to_list()

    def pool(self, vector):
        return [row["id"] for row in self.nearest(vector, POOL)]


class Tantivy:
    name = "usearch + tantivy"

    def __init__(self, corpus, folder):
        import tantivy
        import usearch.index

        schema = tantivy.SchemaBuilder()
        schema.add_integer_field("id", stored=True)
        schema.add_text_field("text", stored=True, tokenizer_name="en_stem")
        words = folder / "peer.tantivy"
        words.mkdir()
        self.tantivy = tantivy.Index(schema.build(), path=str(words))
        writer = self.tantivy.writer(256_000_000, 2)
        for i, text in enumerate(corpus.texts):
            writer.add_document(tantivy.Document(id=i, text=text))
        writer.commit()
        writer.wait_merging_threads()
        self.tantivy.reload()
        self.searcher = self.tantivy.searcher()
        self.texts = corpus.texts
        self.vectors = usearch.index.Index(ndim=corpus.vectors.shape[1], metric="cos")
        self.vectors.add(range(len(corpus.texts)), corpus.vectors, threads=2)

    def by_words(self, words, limit):
        query = self.tantivy.parse_query(" ".join(words), ["text"])
        return [self.searcher.doc(at)["id"][0] for _, at in self.searcher.search(query, limit).hits]

    def by_vector(self, vector, limit):
        return self.vectors.search(vector, limit).keys.tolist()

    def show(self, numbers):
        return [(no, self.texts[no]) for no in numbers]

    def hybrid(self, words, vector):
        return self.show(fuse(self.by_words(words, POOL), self.by_vector(vector, POOL)))

    def lexical(self, words, vector):
        return self.show(self.by_words(words, LIMIT))

    def vector(self, words, vector):
        return self.show(self.by_vector(vector, LIMIT))

    def pool(self, vector):
        return self.by_vector(vector, POOL)


PEERS = {"sqlite": SQLite, "lancedb": Lance, "tantivy": Tantivy}


def median(ask, corpus, questions):
    """Milliseconds of the middle question, asked one after another."""
    times = []
    for i in range(-WARM_UPS, questions):
        began = time.perf_counter()
        hits = ask(corpus.words[i + WARM_UPS], corpus.asked[i + WARM_UPS])
        took = time.perf_counter() - began
        if not hits:
            sys.exit(f"question {i + WARM_UPS} found nothing: {corpus.words[i + WARM_UPS]}")
        if i >= 0:
            times.append(1000 * took)
    return statistics.median_low(times)


def measure(name, corpus, folder, questions):
    """A row of the table, of one peer."""
    began = time.perf_counter()
    peer = PEERS[name](corpus, folder)
    built = time.perf_counter() - began
    found = [len(corpus.nearest(i) & set(peer.pool(corpus.asked[i]))) / POOL for i in range(questions)]
    medians = [median(ask, corpus, questions) for ask in (peer.hybrid, peer.lexical, peer.vector)]
    return [peer.name, *(f"{m:.1f}" for m in medians), f"{statistics.mean(found):.3f}", f"{built:.1f}"]


def measure_alone(name, folder, data, questions):
    """A row of one peer, in a process of its own: threads and memory of the others are not its."""
    command = [sys.executable, __file__, "--peer", name, "--data", str(data), "--queries", str(questions)]
    with tempfile.TemporaryDirectory(dir=folder) as own:
        out = subprocess.run([*command, "--folder", own], capture_output=True, text=True)
    if out.returncode == 0:
        return json.loads(out.stdout)
    reason = (out.stderr.strip().splitlines() or ["no reason given"])[-1]
    return [PEERS[name].name, reason, "", "", "", ""]


def measure_mallard(memctl, n, questions, folder):
    """Mallard's rows, by the resident index and by the file's SQL."""
    command = [memctl, "bench", "recall", "--n", str(n), "--queries", str(questions), "--live", "200", "--folder", folder, "--json"]
    r = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [
        [name, *(f"{r[f'{mode}_ms_p50_{way}']:.1f}" for mode in ("hybrid", "lexical", "vector")), "", f"{n / r['bulk_per_s']:.1f}"]
        for name, way in (("Mallard, resident index", "resident"), ("Mallard, SQL", "sql"))
    ]


def write_corpus(folder, n, questions):
    """Has Mallard's bench write its memories and questions."""
    test = ["go", "test", "./bench", "-count=1", "-timeout=1h", "-run=^TestCorpusFiles$"]
    settings = {"MALLARD_CORPUS": str(folder), "MALLARD_CORPUS_N": str(n), "MALLARD_CORPUS_QUESTIONS": str(questions)}
    subprocess.run(test, cwd=PROJECT, env={**os.environ, **settings}, check=True, stdout=sys.stderr)


def load():
    """How busy the machine is, where that is known."""
    return "%.1f" % os.getloadavg()[0] if hasattr(os, "getloadavg") else "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000, help="memories (default %(default)s)")
    parser.add_argument("--queries", type=int, default=100, help="questions of each sort (default %(default)s)")
    parser.add_argument("--memctl", default=str(PROJECT / "bin" / "memctl"), help="the program (default bin/memctl)")
    parser.add_argument("--folder", help="where files are made (default the system's folder for temporary files)")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)  # one, in this process
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        print(json.dumps(measure(args.peer, Corpus(args.data), Path(args.folder), args.queries)))
        return
    with tempfile.TemporaryDirectory(prefix="peers-", dir=args.folder) as folder:
        data = Path(folder) / "data"
        data.mkdir()
        write_corpus(data, args.n, args.queries + WARM_UPS)
        print(f"{args.n} memories, {args.queries} questions of each sort, {os.cpu_count()} cores, load {load()} before\n")
        print("| p50 ms | hybrid | lexical | vector | vector pool found | filled in s |\n|---|---|---|---|---|---|")
        for row in measure_mallard(args.memctl, args.n, args.queries, folder):
            print("| " + " | ".join(row) + " |", flush=True)
        for name in PEERS:
            print("| " + " | ".join(measure_alone(name, folder, data, args.queries)) + " |", flush=True)
        print(f"\nload {load()} after")


if __name__ == "__main__":
    main()
