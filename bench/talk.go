package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
)

// talk is a recorded conversation of several sessions, and questions about it with the turns that answer them.
type talk struct {
	name      string
	turns     []turn // in their order
	questions []question
}

// turn is what one person said at once. session and id are the data set's, at is when the session began.
type turn struct {
	id      string
	session string
	at      time.Time
	speaker string
	text    string
	caption string
}

// role is who said it where it is a user's talk with an assistant, who have no names; people who talk with each other are users all.
func (t turn) role() string {
	if name := strings.ToLower(t.speaker); slices.Contains(conversation.Roles(), name) {
		return name
	}
	return "user"
}

// question has the positions of its gold turns among the turns of its talk, ascending and each once; at least one.
type question struct {
	text     string
	category int
	gold     []int
	answer   string // empty: it has none
}

// sessionTime is how the data set writes when a session began.
const sessionTime = "3:04 pm on 2 January, 2006"

var (
	sessionKey = regexp.MustCompile(`^session_(\d+)$`)
	turnID     = regexp.MustCompile(`^D\d+:\d+$`)
)

// locomoSample is one conversation as the LoCoMo files have it. Conversation holds the speakers, and for every session its
// turns and the time it began, each under a numbered key.
type locomoSample struct {
	SampleID     string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question string          `json:"question"`
		Evidence []string        `json:"evidence"`
		Category int             `json:"category"`
		Answer   json.RawMessage `json:"answer"` // a text or a number
	} `json:"qa"`
}

// readTalks reads a file in the format of LoCoMo: an array of samples.
func readTalks(path string) ([]talk, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var samples []locomoSample
	if err := json.Unmarshal(content, &samples); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("%s: no conversations in it", path)
	}
	talks := make([]talk, len(samples))
	for i, s := range samples {
		if talks[i], err = s.talk(); err != nil {
			return nil, fmt.Errorf("%s: sample %d (%s): %w", path, i, s.SampleID, err)
		}
	}
	return talks, nil
}

func (s locomoSample) talk() (talk, error) {
	t := talk{name: s.SampleID}
	if t.name == "" {
		return t, fmt.Errorf("it has no sample_id")
	}
	position := map[string]int{} // of turns by id
	for _, n := range s.sessions() {
		if err := t.addSession(s.Conversation, "session_"+strconv.Itoa(n)); err != nil {
			return t, err
		}
	}
	for i, turn := range t.turns {
		position[turn.id] = i
	}
	for _, q := range s.QA {
		if gold := goldTurns(q.Evidence, position); len(gold) > 0 {
			t.questions = append(t.questions, question{q.Question, q.Category, gold, written(q.Answer)})
		}
	}
	return t, nil
}

// written is a text or a number as one writes it.
func written(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		s = string(value)
	}
	return s
}

// sessions gives the numbers of those that have turns, ascending.
func (s locomoSample) sessions() []int {
	var numbers []int
	for key := range s.Conversation {
		if m := sessionKey.FindStringSubmatch(key); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				numbers = append(numbers, n)
			}
		}
	}
	slices.Sort(numbers)
	return numbers
}

func (t *talk) addSession(conversation map[string]json.RawMessage, key string) error {
	var turns []struct {
		ID      string `json:"dia_id"`
		Speaker string `json:"speaker"`
		Text    string `json:"text"`
		Caption string `json:"blip_caption"`
	}
	if err := json.Unmarshal(conversation[key], &turns); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	var written string
	if err := json.Unmarshal(conversation[key+"_date_time"], &written); err != nil {
		return fmt.Errorf("%s_date_time: %w", key, err)
	}
	at, err := time.Parse(sessionTime, written)
	if err != nil {
		return fmt.Errorf("%s_date_time: %w", key, err)
	}
	for _, v := range turns {
		if strings.TrimSpace(v.Text+v.Caption) != "" { // nothing was said or shown: it can't be stored nor recalled
			t.turns = append(t.turns, turn{v.ID, key, at, v.Speaker, v.Text, v.Caption})
		}
	}
	return nil
}

// goldTurns reads evidence, which the data set writes by hand: several ids may stand in one entry, and some are no ids or name
// no turn; those are dropped.
func goldTurns(evidence []string, position map[string]int) []int {
	gold := map[int]bool{}
	for _, entry := range evidence {
		for _, id := range strings.FieldsFunc(entry, func(r rune) bool { return r == ';' || r == ' ' || r == '\t' || r == '\n' }) {
			if at, ok := position[id]; ok && turnID.MatchString(id) {
				gold[at] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(gold))
}
