package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v2"
	"github.com/openai/openai-go/v2/option"
)

// OpenAI returns a client of a server that speaks OpenAI's chat completions: OpenAI itself when BaseURL is empty, else any gateway or
// local server. The error names every bad field.
func OpenAI(config Config) (*Client, error) {
	config = config.withDefaults("https://api.openai.com/v1/")
	if err := config.validate(2); err != nil {
		return nil, fmt.Errorf("llm: openai: %w", err)
	}
	c := newClient("openai", config)
	way := transport{c.way}
	// The service, unlike the SDK's client, takes nothing from the environment. Retries are ours: the SDK's can't be cancelled.
	options := []option.RequestOption{option.WithBaseURL(config.BaseURL), option.WithHTTPClient(way), option.WithMaxRetries(0)}
	if config.Key != "" {
		options = append(options, option.WithAPIKey(config.Key))
	}
	chat := openai.NewChatCompletionService(options...)
	newName := namesCompletionTokens(config.BaseURL)

	c.send = func(ctx context.Context, system, prompt string, maxTokens int) (string, used, error) {
		params := openai.ChatCompletionNewParams{Model: config.Model}
		if system != "" {
			params.Messages = append(params.Messages, openai.SystemMessage(system))
		}
		params.Messages = append(params.Messages, openai.UserMessage(prompt))
		if newName {
			params.MaxCompletionTokens = openai.Int(int64(maxTokens))
		} else {
			params.MaxTokens = openai.Int(int64(maxTokens))
		}
		if config.Temperature != nil {
			params.Temperature = openai.Float(*config.Temperature)
		}
		completion, err := chat.New(ctx, params)
		if err != nil {
			return "", used{}, err
		}
		if len(completion.Choices) == 0 {
			return "", used{}, &Error{*way.Fail(http.StatusOK, "answer has no choices", nil)}
		}
		spent := used{int(completion.Usage.PromptTokens), int(completion.Usage.CompletionTokens)}
		choice := completion.Choices[0]
		// A filter cuts the text off anywhere: what came before is no answer.
		if choice.FinishReason == "content_filter" {
			return "", spent, nil
		}
		return contentText(choice.Message.JSON.Content.Raw(), choice.Message.Content), spent, nil
	}
	return c, nil
}

// namesCompletionTokens reports whether the server wants the limit as max_completion_tokens. OpenAI's newer models refuse the older
// max_tokens, while other servers ignore the newer name and then write without limit.
func namesCompletionTokens(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com")
}

// contentText is a message's content, which some servers give as an array of blocks, thinking among them.
func contentText(raw, plain string) string {
	if !strings.HasPrefix(raw, "[") {
		return plain
	}
	var blocks []struct{ Type, Text string }
	if json.Unmarshal([]byte(raw), &blocks) != nil {
		return ""
	}
	var texts []string
	for _, block := range blocks {
		if block.Type == "text" {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, "\n")
}
