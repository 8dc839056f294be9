package session

import (
	"encoding/json"

	"github.com/mallardmem/mallard/engine/conversation"
)

// mostUsage is the most tokens that a host is believed to have counted.
const mostUsage = 1 << 32

// usageOf reads what the provider counted for an answer, as hosts write it down; nil: they did not.
func usageOf(raw json.RawMessage) *conversation.Usage {
	var said map[string]any
	if json.Unmarshal(raw, &said) != nil {
		return nil
	}
	number := func(names ...string) int {
		for _, name := range names {
			if n, ok := said[name].(float64); ok && n > 0 && n <= mostUsage {
				return int(n)
			}
		}
		return 0
	}
	u := conversation.Usage{Input: number("input", "input_tokens"), Output: number("output", "output_tokens"),
		CacheRead: number("cacheRead", "cache_read_input_tokens"), CacheWrite: number("cacheWrite", "cache_creation_input_tokens"), Total: number("totalTokens")}
	if u == (conversation.Usage{}) {
		return nil
	}
	return &u
}
