package llm

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// Anthropic returns a client of Anthropic's messages: Anthropic itself when BaseURL is empty, else a server that speaks the same.
// The error names every bad field.
func Anthropic(config Config) (*Client, error) {
	config = config.withDefaults("https://api.anthropic.com/")
	if err := config.validate(1); err != nil {
		return nil, fmt.Errorf("llm: anthropic: %w", err)
	}
	c := newClient("anthropic", config)
	way := transport{c.way}
	// As with OpenAI: no environment, our own retries. Without a timeout of its own the SDK refuses long answers; without the
	// last option it gives what is asked to whatever traces the host collects.
	options := []option.RequestOption{
		option.WithBaseURL(config.BaseURL), option.WithHTTPClient(way), option.WithMaxRetries(0),
		option.WithRequestTimeout(config.Timeout), option.WithoutOpenTelemetry(),
	}
	if config.Key != "" {
		options = append(options, option.WithAPIKey(config.Key))
	}
	messages := anthropic.NewMessageService(options...)

	c.send = func(ctx context.Context, system, prompt string, maxTokens int) (string, used, error) {
		params := anthropic.MessageNewParams{
			Model:     anthropic.Model(config.Model),
			MaxTokens: int64(maxTokens),
			Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
		}
		if system != "" {
			params.System = []anthropic.TextBlockParam{{Text: system}}
		}
		if config.Temperature != nil {
			params.Temperature = anthropic.Float(*config.Temperature)
		}
		message, err := messages.New(ctx, params)
		if err != nil {
			return "", used{}, err
		}
		if !message.JSON.Content.Valid() {
			return "", used{}, &Error{*way.Fail(http.StatusOK, "answer has no content", nil)}
		}
		spent := used{int(message.Usage.InputTokens + message.Usage.CacheCreationInputTokens + message.Usage.CacheReadInputTokens), int(message.Usage.OutputTokens)}
		// A refusal may come in the middle of the text: what came before is no answer.
		if message.StopReason == anthropic.StopReasonRefusal {
			return "", spent, nil
		}
		var texts []string
		for _, block := range message.Content {
			if block.Type == "text" {
				texts = append(texts, block.Text)
			}
		}
		return strings.Join(texts, "\n"), spent, nil
	}
	return c, nil
}
