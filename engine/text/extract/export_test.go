package extract

// Texts returns the sentences of s, those of more than most bytes in clauses.
func Texts(s string, most int) []string {
	var out []string
	for _, x := range sentences(nil, s, most) {
		out = append(out, s[x.start:x.end])
	}
	return out
}
