package session

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// masked stands in the place of a secret.
const masked = "[redacted]"

// secrets are the forms of keys and tokens. Of a pattern with a group only what follows the group is masked.
var secrets = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)`),
	regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}`),
	regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})`),
	regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`),
	regexp.MustCompile(`\bxox[a-z]-[A-Za-z0-9-]{10,}`),
	regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/-]{8,}=*`),
	regexp.MustCompile(`(?i)(://[^\s/:@"']+:)[^\s/@"']+@`),
	regexp.MustCompile(`(?i)(\b[A-Z0-9_.-]*(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|private[_-]?key)\\?["']?\s*[:=]\s*)(?:\\?"(?:[^"\\]|\\[^"])+\\?"|'[^']+'|[^\s"',;&\\]{3,})`),
}

// secretName is the key of a JSON member whose value is a secret.
var secretName = regexp.MustCompile(`(?i)^(?:.*[_.-])?(?:password|passwd|secret|api[_-]?key|access[_-]?key|secret[_-]?access[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|private[_-]?key|client[_-]?secret)$`)

// Redact masks what looks like a key, a token, a password or a private key.
func Redact(s string) string {
	for _, pattern := range secrets {
		if pattern.NumSubexp() == 0 {
			s = pattern.ReplaceAllLiteralString(s, masked)
			continue
		}
		s = pattern.ReplaceAllString(s, "${1}"+masked)
	}
	return s
}

// RedactJSON does so within the strings of a JSON text, whatever way they are escaped, and leaves every other byte as it is. Of
// what is no JSON the whole is treated as one string.
func RedactJSON(raw []byte) []byte {
	if !json.Valid(raw) {
		return []byte(Redact(string(raw)))
	}
	var out bytes.Buffer
	name := ""
	for i := 0; i < len(raw); {
		if raw[i] != '"' {
			out.WriteByte(raw[i])
			i++
			continue
		}
		end := endOfString(raw, i)
		literal := raw[i:end]
		i = end
		var s string
		if json.Unmarshal(literal, &s) != nil {
			out.Write(literal)
			continue
		}
		rest := bytes.TrimLeft(raw[i:], " \t\r\n")
		if len(rest) > 0 && rest[0] == ':' {
			name = s
			out.Write(literal)
			continue
		}
		said := Redact(s)
		if secretName.MatchString(name) && strings.TrimSpace(s) != "" {
			said = masked
		}
		if name = ""; said == s {
			out.Write(literal)
			continue
		}
		out.Write(quoted(said))
	}
	return out.Bytes()
}

// endOfString gives where a JSON string that begins at i ends.
func endOfString(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// quoted is s as a JSON string.
func quoted(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil { // a string always can be
		return []byte(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
