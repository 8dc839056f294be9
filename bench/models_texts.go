package bench

import (
	"fmt"
	"strings"
)

// modelQuestion is what passages are read beside: with it they have some sixty tokens.
const modelQuestion = "Who brought the spare part for the crane at the north pier?"

// The parts of made-up sentences, which make sense enough for a model to tell them apart.
var (
	modelWho  = []string{"The harbour master", "My aunt", "Nobody in the office", "The night nurse", "A cellist from the city", "Our landlord", "The new apprentice", "Her younger brother"}
	modelDid  = []string{"postponed", "finally paid for", "never mentioned", "is allergic to", "wrote three pages about", "can't stand", "inherited", "has moved"}
	modelWhat = []string{"the ferry to the islands", "a box of ripe pears", "the broken crane at pier four", "the second violin", "a plan for the garden", "her grandmother's house", "next Tuesday's meeting", "the old fishing boat"}
	modelWhy  = []string{"because of the fog", "after the holidays", "although nobody had asked", "before the office closed", "on a cold morning in March", "as far as anybody knows", "for the third time this year"}
)

// modelTexts gives so many short texts, of some 25 tokens each.
func modelTexts(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		j := i / 8
		texts[i] = fmt.Sprintf("%d: %s %s %s %s, and %s knew it.", 10+i%90, modelWho[i%8], modelDid[(i+j)%8], modelWhat[(i+3*j)%8], modelWhy[(i+j/8)%7], strings.ToLower(modelWho[(i+5)%8]))
	}
	return texts
}

// modelPassages gives so many texts, of some 45 tokens each.
func modelPassages(n int) []string {
	texts := modelTexts(2 * n)
	passages := make([]string, n)
	for i := range passages {
		passages[i] = texts[2*i] + " " + texts[2*i+1]
	}
	return passages
}
