package llm

import "github.com/mallardmem/mallard/wire"

// Error is a request that got no answer; its Provider is "openai" or "anthropic". It holds no key and nothing of the prompt but what the server repeated in its message.
type Error struct{ wire.Failure }

func (e *Error) Error() string { return "llm: " + e.Failure.Error() }
