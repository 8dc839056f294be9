package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/llm"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/share"
	"github.com/mallardmem/mallard/engine/turn"
)

// openMemory opens the agent's file. The model writes summaries; without one (no LLM) they pick sentences.
func openMemory(ctx context.Context, file, server, model string) (*engine.Engine, error) {
	writer, err := llm.OpenAI(llm.Config{BaseURL: server, Key: os.Getenv("OPENAI_API_KEY"), Model: model}) // or llm.Anthropic
	if err != nil {
		return nil, err
	}
	return engine.Open(ctx, file, engine.Options{Embedder: static.New(), LLM: writer}, share.Serve)
}

// agent is one dialogue with a model behind a server that speaks OpenAI's chat completions.
type agent struct {
	memory        *engine.Engine
	server, model string
	conversation  string
	budget        int // tokens of the model's context that the dialogue may have
}

// turn takes what the user said and gives the model's answer.
func (a *agent) turn(ctx context.Context, key, said string) (string, error) {
	if err := a.append(ctx, conversation.Message{Key: key, Role: "user", Text: said}); err != nil {
		return "", err
	}
	known, err := a.memory.Recall(ctx, recall.Query{Text: said, Limit: 5, Adaptive: true})
	if err != nil {
		return "", err
	}
	for {
		shown, err := a.memory.Assemble(ctx, assemble.Request{Conversation: a.conversation, Budget: a.budget})
		if err != nil {
			return "", err
		}
		messages := shown.OpenAI()
		if block := known.Prompt(); block != "" {
			messages = append([]assemble.OpenAIMessage{{Role: "system", Content: block}}, messages...)
		}
		answer, err := a.insist(ctx, messages)
		if err != nil {
			return "", err
		}
		text, _ := answer.Content.(string)
		blocks := []conversation.Block{{Type: conversation.TextBlock, Text: text}}
		for _, call := range answer.ToolCalls {
			blocks = append(blocks, conversation.Block{Type: conversation.ToolCallBlock, CallID: call.ID, Tool: call.Function.Name, Input: call.Function.Arguments})
		}
		if err := a.append(ctx, conversation.Message{Role: "assistant", Blocks: blocks}); err != nil {
			return "", err
		}
		if len(answer.ToolCalls) == 0 {
			return text, a.compact(ctx)
		}
		for _, call := range answer.ToolCalls {
			output, err := a.call(ctx, call.Function.Name, call.Function.Arguments)
			if err != nil {
				output = err.Error()
			}
			result := conversation.Block{Type: conversation.ToolResultBlock, CallID: call.ID, Tool: call.Function.Name, Output: output, IsError: err != nil}
			if err := a.append(ctx, conversation.Message{Role: "tool", Blocks: []conversation.Block{result}}); err != nil {
				return "", err
			}
		}
	}
}

func (a *agent) append(ctx context.Context, m conversation.Message) error {
	_, err := a.memory.Append(ctx, conversation.AppendRequest{Conversation: a.conversation, Messages: []conversation.Message{m}})
	return err
}

// remembered is a turn in which the memory does its part by itself: what is known stands beside what the user says, and what they said is drawn from.
func (a *agent) remembered(ctx context.Context, said string) (string, error) {
	known, err := a.memory.BeforeTurn(ctx, turn.Turn{Conversation: a.conversation, Prompt: said})
	if err != nil {
		return "", err
	}
	shown, err := a.memory.Assemble(ctx, assemble.Request{Conversation: a.conversation, Budget: a.budget})
	if err != nil {
		return "", err
	}
	messages := append(shown.OpenAI(), assemble.OpenAIMessage{Role: "user", Content: known.Block + said})
	answer, err := a.insist(ctx, messages)
	if err != nil {
		return "", err
	}
	text, _ := answer.Content.(string)
	_, err = a.memory.AfterTurn(ctx, turn.Turn{Conversation: a.conversation, Prompt: said, Answer: text})
	return text, err
}

// insist asks the model, and when it fails twice more, with longer and longer pauses.
func (a *agent) insist(ctx context.Context, messages []assemble.OpenAIMessage) (answer *assemble.OpenAIMessage, err error) {
	for _, pause := range []time.Duration{0, time.Second, 10 * time.Second} {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if answer, err = a.complete(ctx, messages); err == nil {
			return answer, nil
		}
	}
	return nil, err // what was said is stored: the same turn may be called again
}

// compact makes the context smaller when that is due.
func (a *agent) compact(ctx context.Context) error {
	r := compact.Request{Conversation: a.conversation, Budget: a.budget}
	need, err := a.memory.NeedsCompaction(ctx, r)
	if err != nil || !need.Over && !need.LeafDue {
		return err
	}
	done, err := a.memory.Compact(ctx, r)
	if err != nil {
		log.Printf("compaction: %v", err) // what was done stays, and the next turn tries again
		return nil
	}
	log.Printf("compaction: %s, %d to %d tokens", done.Reason, done.TokensBefore, done.TokensAfter)
	return nil
}

// call is what the model finds behind its four tools.
func (a *agent) call(ctx context.Context, tool, arguments string) (string, error) {
	var in struct{ Text, Pattern, ID, Question string }
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		return "", err
	}
	switch {
	case tool == "remember":
		_, err := a.memory.Remember(ctx, memory.RememberRequest{Text: in.Text, Unique: true})
		return "Remembered.", err
	case tool == "grep":
		found, err := a.memory.Grep(ctx, lookup.GrepRequest{Conversation: a.conversation, Pattern: in.Pattern, Limit: 10})
		if err != nil {
			return "", err
		}
		return found.Text(), nil
	case tool == "describe":
		described, err := a.memory.Describe(ctx, lookup.DescribeRequest{ID: in.ID})
		if err != nil {
			return "", err
		}
		return described.Text(), nil
	case tool == "expand" && in.Question != "":
		answer, err := a.memory.ExpandQuery(ctx, lookup.ExpandQueryRequest{Conversation: a.conversation, Prompt: in.Question})
		if err != nil {
			return "", err
		}
		return answer.Answer, nil
	case tool == "expand":
		expanded, err := a.memory.Expand(ctx, lookup.ExpandRequest{IDs: []string{in.ID}, Depth: 3, Messages: true})
		if err != nil {
			return "", err
		}
		return expanded.Text(), nil
	}
	return "", fmt.Errorf("no tool %q", tool)
}

// tools tells the model of them, in the form of chat completions.
const tools = `[
	{"type": "function", "function": {"name": "remember", "description": "Keep one fact for later conversations, in one sentence.",
		"parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}},
	{"type": "function", "function": {"name": "grep", "description": "Find what was said in this conversation, by words.",
		"parameters": {"type": "object", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"]}}},
	{"type": "function", "function": {"name": "describe", "description": "Say what a summary covers, and what expanding it costs.",
		"parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}},
	{"type": "function", "function": {"name": "expand", "description": "Get the detail behind summaries: all of the summary with this id, or what answers a question.",
		"parameters": {"type": "object", "properties": {"id": {"type": "string"}, "question": {"type": "string"}}}}}]`

// complete asks the model for its next message.
func (a *agent) complete(ctx context.Context, messages []assemble.OpenAIMessage) (*assemble.OpenAIMessage, error) {
	body, err := json.Marshal(map[string]any{"model": a.model, "messages": messages, "tools": json.RawMessage(tools)})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Choices []struct{ Message assemble.OpenAIMessage }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s: %w", response.Status, err)
	}
	if len(answer.Choices) == 0 {
		return nil, errors.New(response.Status)
	}
	return &answer.Choices[0].Message, nil
}

// A whole agent: its dialogue stays within a budget, and the model looks up what was summarised away. docs/agents.md goes through it.
func Example_agent() {
	ctx := context.Background()
	server := modelServer()
	defer server.Close()
	e, err := openMemory(ctx, ":memory:", server.URL, "some-model") // a file, and a server such as "http://localhost:11434/v1"
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	log.SetOutput(os.Stdout)
	log.SetFlags(0)
	defer func() { log.SetOutput(os.Stderr); log.SetFlags(log.LstdFlags) }()

	a := &agent{memory: e, server: server.URL, model: "some-model", conversation: "harbour", budget: 1000}
	for i := range 12 {
		said := fmt.Sprintf("Entry %d of the log: %s", i, strings.Repeat("the tide turned and the cranes went on with their work. ", 5))
		if i == 2 {
			said += "The code of the gate is 4711."
		}
		if _, err := a.turn(ctx, fmt.Sprint("turn-", i), said); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := a.turn(ctx, "turn-12", "By the way: Ines likes green tea."); err != nil {
		log.Fatal(err)
	}
	answer, err := a.turn(ctx, "turn-13", "What is the code of the gate?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)

	b := &agent{memory: e, server: server.URL, model: "some-model", conversation: "another day", budget: 1000}
	answer, err = b.turn(ctx, "turn-0", "Which tea does Ines like?") // what was remembered in one conversation is known in the next
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
	if answer, err = b.remembered(ctx, "Which tea was it that Ines likes?"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
	// Output:
	// compaction: compacted, 778 to 482 tokens
	// compaction: compacted, 867 to 500 tokens
	// It is 4711.
	// Green tea.
	// Green tea.
}

// modelServer stands in for a model: it summarises in one sentence, remembers what is said by the way, and looks for codes before it answers.
func modelServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []assemble.OpenAIMessage
			Tools    []any
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		last := request.Messages[len(request.Messages)-1]
		said, _ := last.Content.(string)
		answer := assemble.OpenAIMessage{Role: "assistant", Content: "Noted."}
		system, _ := request.Messages[0].Content.(string)
		ask := func(tool, arguments string) {
			answer.ToolCalls = []assemble.OpenAICall{{ID: "call_" + tool, Type: "function", Function: assemble.OpenAIFunction{Name: tool, Arguments: arguments}}}
			answer.Content = nil
		}
		switch {
		case request.Tools == nil:
			answer.Content = "The log tells of tides and cranes.\nExpand for details about: the gate"
		case last.Role == "tool" && strings.Contains(said, "4711"):
			answer.Content = "It is 4711."
		case strings.Contains(said, "What is the code"):
			ask("grep", `{"pattern": "code of the gate"}`)
		case strings.Contains(said, "By the way"):
			ask("remember", `{"text": "Ines likes green tea."}`)
		case strings.Contains(said, "Which tea") && strings.Contains(system+said, "green tea"):
			answer.Content = "Green tea."
		}
		json.NewEncoder(w).Encode(map[string]any{"id": "1", "object": "chat.completion", "choices": []any{map[string]any{"index": 0, "message": answer, "finish_reason": "stop"}}})
	}))
}
