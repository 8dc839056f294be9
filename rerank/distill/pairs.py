"""Made-up questions and turns of talk from the example sentences of WordNet's glosses: lists of one turn that answers and some that do not."""
import random, re
from pathlib import Path

NAMES = "Ada Ben Cleo Dan Elif Finn Gwen Hugo Ines Jonas Kira Leo Mila Noor Otto Pia Quinn Rosa Sam Teo Uma Vera Wim Yara Zoe Amir Bella Carl Dora Emil".split()
OPEN = ["", "", "", "", "Hey {o}! ", "Hi {o}, ", "Wow, thanks! ", "Yeah, ", "Oh, ", "That's great, {o}! ", "By the way, ", "Guess what? ", "Sorry to hear that. ", "Well, ", "Not much. "]
CLOSE = ["", "", "", "", " It was so good!", " What about you?", " How have you been?", " I love it.", " You should try it too.", " Can't wait to tell you more.", " It means a lot to me.", " Have you ever done that?", " Anyway, how was your week?"]
ECHO = ["Wow, {n}, that sounds amazing! Tell me more about the {w}.", "That's so nice, {n}! I like the {w} too.", "Really, {w}? How did that go?", "Oh, {w}! I'm happy for you, {n}.", "Hey {n}, {q}", "Thanks, {n}! Speaking of {w}, {q}"]
STOP = set("a an the of to in on at for and or but with by from as is was are were be been being he she it they we i you his her its their our my your him them us me this that these those not no so very too all some any who what when where why how which there then than had has have did does do will would can could may might must shall should up out off over into about after before more most one".split())
AUX = set("is was are were be been has had have will would can could may might must shall should do did does".split())

def wordnet(folder):
    """The sentences, each with the other words of its synset, and the forms of verbs."""
    folder = Path(folder)
    lemmas = {l.split(" ", 1)[0] for l in open(folder / "index.verb") if not l.startswith("  ")}
    irregular = {}
    for line in open(folder / "verb.exc"):
        form, lemma = line.split()[:2]
        if not form.endswith("ing"): irregular[form] = lemma
    sentences = []
    for name in ("adj", "adv", "noun", "verb"):
        for line in open(folder / f"data.{name}"):
            if line.startswith("  "): continue
            head, _, gloss = line.partition(" | ")
            f = head.split()
            words = [f[4 + 2 * i].split("(")[0].replace("_", " ") for i in range(int(f[3], 16))]
            for s in gloss.split('"')[1::2]:
                s = " ".join(s.rstrip(";, \t").split())
                if 4 <= len(s.split()) <= 25 and s.isascii(): sentences.append((s[0].upper() + s[1:].rstrip("."), words))
    return sentences, lemmas, irregular

def lemma_of(form, lemmas, irregular):
    if form in AUX: return None, None
    if form in irregular: return irregular[form], "did"
    if form.endswith("ed"):
        for l in (form[:-2], form[:-1], form[:-3], form[:-3] + "y"):
            if l in lemmas: return l, "did"
    if form.endswith("s") and not form.endswith("ss"):
        for l in (form[:-1], form[:-2], form[:-3] + "y"):
            if l in lemmas: return l, "does"
    return None, None

PARSE = re.compile(r"^(He|She|They|We|I|It|The \w+|His \w+|Her \w+|My \w+|Our \w+|[A-Z][a-z]+) ([a-z]+)( .+)$")

def ask(rng, s, words, lemmas, irregular):
    """A question, the statement that answers it, and the name of who states it."""
    n = rng.choice(NAMES)
    said = s
    content = [w for w in re.findall(r"[a-z][a-z-]+", s.lower()) if w not in STOP and len(w) > 2]
    if not content: return None
    m = PARSE.match(s)
    question = None
    if m:
        lemma, aux = lemma_of(m[2], lemmas, irregular)
        if lemma:
            rest = m[3]
            short = rest
            tail = rest.split()
            if len(tail) > 3 and rng.random() < .5: short = " " + " ".join(tail[:rng.randint(2, len(tail) - 1)])
            person = m[1] in ("He", "She", "They", "We", "I") or (m[1][:3] not in ("The", "It ") and rng.random() < .3)
            who = n if person else m[1][0].lower() + m[1][1:]
            theirs = re.sub(r"\b(his|her|their|my|our)\b", "their" if rng.random() < .5 else n + "'s", short)
            question = rng.choice([f"When {aux} {who} {lemma}{theirs}?", f"Why {aux} {who} {lemma}{theirs}?", f"Where {aux} {who} {lemma}{theirs}?", f"What {aux} {who} {lemma}?" if len(tail) < 6 else f"What {aux} {who} {lemma}{theirs}?",
                                   f"{aux.capitalize()} {who} {lemma}{theirs}?", f"Who {m[2]}{theirs}?", f"How {aux} {who} {lemma}{theirs}?", f"What happened when {who} {m[2]}{theirs}?"])
            if person:
                verb = m[2] if aux == "did" else lemma
                said = f"I {verb}" + re.sub(r"\b(his|her|their)\b", "my", rest)
    if question is None:
        k = rng.sample(content, min(len(content), rng.choice([1, 2, 2, 3])))
        k.sort(key=content.index)
        w = " ".join(k) if rng.random() < .5 else " and ".join(k)
        question = rng.choice([f"What did {n} say about {w}?", f"What does {n} think of {w}?", f"When did {n} mention the {w}?", f"How does {n} feel about {w}?", f"What kind of {w} does {n} have?", f"Which {w} was it?", f"Is there anything about {w}?"])
    others = [w for w in words if w.lower() not in s.lower()]
    own = [w for w in words if w not in STOP and re.search(rf"\b{re.escape(w)}\b", question)]
    if own and others and rng.random() < .6: question = re.sub(rf"\b{re.escape(own[0])}\b", lambda _: rng.choice(others), question, count=1)
    return question, said, n, content

KIND = [("What {a} did {n} buy?", "I just bought a new {b}."), ("What kind of {a} does {n} have?", "I've had my {b} for three years now."), ("Which {a} did {n} see on the trip?", "We saw a {b} on the way."),
        ("What {a} does {n} like best?", "My favorite is the {b}."), ("What {a} is {n} afraid of?", "A {b} scares me to death."), ("What did {n} say about the {a}?", "The {b} has been on my mind a lot lately."),
        ("When did {n} get the {a}?", "Yesterday I finally got the {b} I told you about."), ("Has {n} ever had a {a}?", "Back home we used to have a {b}."), ("What {a} did {n} make?", "Last night I made a {b} with my own hands.")]


def kinds(folder):
    """Nouns that are in use, each with the word for what it is a kind of."""
    folder = Path(folder)
    used = {l.split("%")[0] for l in open(folder / "cntlist.rev") if "%1:" in l.split(" ")[0] and int(l.split()[-1]) >= 3}
    first, above, out = {}, {}, []
    for line in open(folder / "data.noun"):
        if line.startswith("  "): continue
        f = line.partition(" | ")[0].split()
        words = [f[4 + 2 * i] for i in range(int(f[3], 16))]
        first[f[0]] = words
        at = 4 + 2 * len(words)
        up = [f[at + 2 + 4 * i] for i in range(int(f[at])) if f[at + 1 + 4 * i] == "@"]
        if up: above[f[0]] = up[0]
    for key, words in first.items():
        ups = [u for u in first.get(above.get(key), []) if u in used]
        if ups: out += [(w, ups[0]) for w in words if w in used and "_" not in w + ups[0] and w.islower() and w not in ups[0] and ups[0] not in w]
    return out


def lists(folder, count, seed=1):
    """count tuples (question, turn that answers, turn that takes it up and does not)."""
    rng = random.Random(seed)
    sentences, lemmas, irregular = wordnet(folder)
    rng.shuffle(sentences)
    out = []
    plain = [s for s, _ in sentences]
    nouns = kinds(folder)
    for s, words in sentences:
        if rng.random() < .2:
            (b, a), (asked, told), n = rng.choice(nouns), rng.choice(KIND), rng.choice(NAMES)
            a = asked.format(a=a, n=n), told.format(b=b), n, [a]
        else: a = ask(rng, s, words, lemmas, irregular)
        if a is None: continue
        question, said, n, content = a
        o = rng.choice([x for x in NAMES if x != n])
        said += "." if said[-1] not in ".?!" else ""
        more = " " + rng.choice(plain) + "." if rng.random() < .25 else ""
        turn = rng.choice(OPEN).format(o=o) + said + more + rng.choice(CLOSE)
        if rng.random() < .1: turn = rng.choice(plain) + ". " + turn
        q = re.sub(r"\bdoes you\b", "do you", re.sub(rf"\b{n}\b", "you", question))
        echo = rng.choice(ECHO).format(n=n, w=rng.choice(content), q=q[0].lower() + q[1:])
        out.append((question, turn, echo))
        if len(out) == count: break
    return out

if __name__ == "__main__":
    import sys
    for row in lists(sys.argv[1], 40): print(*row, sep="\n    ")
