package chain

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
)

// Class says what kind of failure an error of a model is.
type Class string

// The classes of errors.
const (
	MaxTokens       Class = "max_tokens"
	ContextOverflow Class = "context_overflow"
	RateLimit       Class = "rate_limit"
	Overloaded      Class = "overloaded"
	ServerError     Class = "server_error"
	Billing         Class = "billing"
	Auth            Class = "auth"
	Timeout         Class = "timeout"
	Format          Class = "format"
	Unknown         Class = "unknown"
)

// tells are the words by which errors are known, in the order in which they are looked for.
var tells = []struct {
	class Class
	words *regexp.Regexp
}{
	{MaxTokens, regexp.MustCompile(`max_tokens|max_output_tokens|max_completion_tokens`)},
	{ContextOverflow, regexp.MustCompile(`context[ _](length|window|size)|context.overflow|maximum context|(prompt|input|request) is too (long|large)|too many (input )?tokens|request too large`)},
	{RateLimit, regexp.MustCompile(`rate.?limit|too many requests|\b429\b|quota exceeded|resource.exhausted`)},
	{Overloaded, regexp.MustCompile(`overloaded|\b529\b|at capacity`)},
	{ServerError, regexp.MustCompile(`\b50[0234]\b|server.error|bad gateway|service unavailable`)},
	{Billing, regexp.MustCompile(`\b402\b|billing|payment|credit|insufficient.(funds|quota|balance)`)},
	{Auth, regexp.MustCompile(`\b40[13]\b|unauthori[sz]ed|forbidden|authentication|permission|api.?key`)},
	{Timeout, regexp.MustCompile(`time.?out|timed out|deadline exceeded|no answer within`)},
	{Format, regexp.MustCompile(`\b4(00|22)\b|invalid.request|malformed|unreadable|unmarshal`)},
}

// ClassOf tells the class of an error of a model, by its text; what says itself that a key was refused, or that time ran out, needs none.
func ClassOf(err error) Class {
	text := strings.ToLower(err.Error())
	for _, t := range tells {
		switch {
		case t.words.MatchString(text), t.class == Auth && conversation.Unauthorized(err), t.class == Timeout && errors.Is(err, context.DeadlineExceeded):
			return t.class
		}
	}
	return Unknown
}

// FailsOver reports whether another model may do better.
func (c Class) FailsOver() bool {
	switch c {
	case RateLimit, Auth, Billing, Timeout, Overloaded, ServerError:
		return true
	}
	return false
}

// Cooldown is how long a model is left alone after so many failures in a row, the last of them of a class: 1, 5, 25 and then 60 minutes; for billing 5, 10, 20 and then 24
// hours.
func Cooldown(class Class, failures int) time.Duration {
	minutes, hours := []time.Duration{1, 5, 25, 60}, []time.Duration{5, 10, 20, 24}
	switch n := min(failures, len(minutes)) - 1; {
	case n < 0:
		return 0
	case class == Billing:
		return hours[n] * time.Hour
	default:
		return minutes[n] * time.Minute
	}
}
