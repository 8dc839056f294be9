package prompts

// NotInExcerpts is the whole answer of a model that finds nothing on the question.
const NotInExcerpts = "The excerpts don't say."

// AnswerSystem is the system text that goes with Answer.
func AnswerSystem() string { return render("answer_system", nil) }

// Excerpt is a piece of the record: a message or a summary.
type Excerpt struct {
	// ID is what the answer cites. Characters other than ASCII letters, digits, _ and - become _.
	ID   string
	Text string
}

// AnswerInput asks a question about excerpts.
type AnswerInput struct {
	Question string
	// Excerpts stand in the prompt in this order.
	Excerpts []Excerpt
	// TargetTokens is the length to stay below. 0: none is named.
	TargetTokens int
}

// Answer is the prompt for an answer from the excerpts alone, with the ids it rests on in square brackets. A model that finds
// nothing is told to answer NotInExcerpts.
func Answer(in AnswerInput) string {
	material := []string{in.Question}
	for _, excerpt := range in.Excerpts {
		material = append(material, excerpt.ID, excerpt.Text)
	}
	return render("answer", struct {
		AnswerInput
		Fence    fence
		NotThere string
	}{in, newFence(material...), NotInExcerpts})
}
