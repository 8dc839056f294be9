// Package text is the words of a text in plain Go: terms for the lexical index, how much a turn tells, token estimates, snippets, noise, and the
// small judgements about a prompt (skip it, expand it, read its tags). It holds no state, knows no clock and reads no file. Its rooms are dates,
// what a question names of the calendar; extract, summaries made of a conversation's own sentences; capture, what of a text is worth remembering; standin, what stands for what is too large for a
// message; and internal/char, what a character is to all of them.
//
// # Terms
//
// An Analyzer cuts text into words and gives each word two spellings. The surface is the word folded: compatibility forms
// unified (full-width letters, ligatures), lower case, accents removed. The term is the stem of the surface and depends on the
// surface alone, so that a table of surfaces and terms answers queries where no Go is at hand. Both are valid UTF-8 without NUL,
// at most 64 code points; what is longer is cut there.
//
//   - A word is a run of letters, digits and marks. Only words made of letters alone are stemmed.
//   - Apostrophes: the clitics 's 'm 're 've 'll 'd end a word and are left out ("John's" is john, "I'd" is i); any other
//     apostrophe closes up ("don't" is dont, "O'Brien" is obrien). French and Italian split there instead ("l'homme" is l, homme).
//   - A comma between groups of three digits closes up: "1,000" is 1000.
//   - Words joined without a space by one of _ - . & / \ @ : # are a compound. Its words are always indexed. The whole is
//     indexed too, unstemmed and before its words, when it reads as an identifier: any join by _ . & @ or :, a digit in one of
//     its words (DB-42, 24/7), or a path (two slashes, or a slash in front). So "well-known" and "and/or" are words only.
//     The segments of a path, address or tag are indexed in the same way: "src/main.go" is src/main.go, src, main.go, main, go.
//   - Single letters joined by points are one word: "U.S.A." is usa.
//   - "C++", "C#" and their like (letters before ++, one letter before #) are indexed whole and as the bare word.
//   - CamelCase stays one word.
//   - Scripts written without spaces (Han, kana, hangul; also Thai, Lao, Khmer, Myanmar) give every character and every
//     pair of neighbours. A character carries its marks along.
//   - Every other script passes through as words. Symbols, emoji and punctuation are not words.
//
// # Folding
//
// Accents go from Latin, Greek and Cyrillic, with й, ї and ў kept, which are letters in their own right, and ё read as е.
// ß æ œ þ become ss ae oe th, and ø ł đ ð ħ ı become o l d d h i. Arabic and Hebrew points, tatweel and invisible format characters
// go too, since they are optional in writing. Marks that carry meaning stay: vowels of the Indic scripts, tones, kana voicing.
//
// # Noise
//
// IsRecallNoise drops only what can't be a memory, and is one regular expression that SQL uses as well.
package text
