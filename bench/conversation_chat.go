package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
)

const (
	chatFewest   = 14 // words of a message
	chatMost     = 38
	chatSitting  = 200 // messages of one session of the host
	errorEvery   = 500 // messages
	toolEvery    = 12  // messages
	chatSentence = 9   // words
)

// chat makes a conversation between a user and an assistant that calls tools: messages of 25 to 60 tokens in sentences, every twelfth a call
// and the next its result, one in five hundred with the number of an error. Message i of a seed is always the same.
type chat struct {
	corpus *corpus
}

func newChat(seed uint64) *chat { return &chat{newCorpus(seed)} }

// words are those of message i, by Zipf's law.
func (c *chat) words(i int) []string {
	r := c.corpus.random(i)
	zipf := rand.NewZipf(r, 1.07, 2.7, vocabularySize-1)
	words := make([]string, chatFewest+r.IntN(chatMost-chatFewest+1))
	for j := range words {
		words[j] = c.corpus.words[zipf.Uint64()]
	}
	return words
}

// text puts the words of message i into sentences.
func (c *chat) text(i int) string {
	var b strings.Builder
	for j, word := range c.words(i) {
		switch {
		case j%chatSentence == 0 && j > 0:
			b.WriteString(". ")
			fallthrough
		case j == 0:
			word = strings.ToUpper(word[:1]) + word[1:]
		default:
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	if i%errorEvery == errorEvery/2 {
		fmt.Fprintf(&b, ", with ERR-%05d", c.corpus.random(-1-i).IntN(100_000))
	}
	b.WriteByte('.')
	return b.String()
}

func (c *chat) message(i int) conversation.Message {
	m := conversation.Message{
		Session: fmt.Sprint("sitting-", i/chatSitting), Role: []string{"user", "assistant"}[i%2], Text: c.text(i),
		SaidAt: c.corpus.start.Add(time.Duration(i)*40*time.Second + time.Duration(i/chatSitting)*12*time.Hour),
	}
	if m.Role == "user" {
		m.Speaker = "Ines"
	}
	switch call := fmt.Sprint("call_", i/toolEvery); i % toolEvery {
	case toolEvery - 3:
		m.Blocks = []conversation.Block{{Type: conversation.TextBlock, Text: m.Text},
			{Type: conversation.ToolCallBlock, CallID: call, Tool: "read_file", Input: fmt.Sprintf(`{"path":"src/%s.go"}`, c.words(i)[0])}}
	case toolEvery - 2:
		m.Role, m.Speaker, m.Blocks = "tool", "", []conversation.Block{{Type: conversation.ToolResultBlock, CallID: call, Tool: "read_file", Output: m.Text}}
		m.Text = ""
	}
	return m
}

// messages is messages from to to, the latter not included.
func (c *chat) messages(from, to int) []conversation.Message {
	all := make([]conversation.Message, 0, to-from)
	for i := from; i < to; i++ {
		all = append(all, c.message(i))
	}
	return all
}

// question i asks about one of the first n messages, in ten words of it as they follow each other.
func (c *chat) question(i, n int) (text string, about int) {
	r := c.corpus.random(-1_000_000 - i)
	about = r.IntN(n)
	words := c.words(about)
	from := r.IntN(len(words) - questionWords + 1)
	return strings.Join(words[from:from+questionWords], " "), about
}
