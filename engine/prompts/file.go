package prompts

import "strings"

// FileInput asks for a description of a text file that is too large for the conversation.
type FileInput struct {
	// Name and MIME may be empty.
	Name, MIME string
	// Headers are the file's headings, in order, as far as they are known. One line each.
	Headers []string
	// Parts is the whole text as one part, or pieces of it in order: beginning, middle and end.
	Parts []string
}

// File is the prompt for an exploration summary of 200 to 300 words.
func File(in FileInput) string {
	details := []string{"Name: " + orNone(line(in.Name)), "Type: " + orNone(line(in.MIME))}
	for _, header := range in.Headers {
		if header = line(header); header != "" {
			details = append(details, "Heading: "+header)
		}
	}
	data := struct {
		Details string
		Parts   []string
		Fence   fence
	}{Details: strings.Join(details, "\n"), Parts: in.Parts}
	data.Fence = newFence(append([]string{data.Details}, in.Parts...)...)
	return render("file", data)
}

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}
