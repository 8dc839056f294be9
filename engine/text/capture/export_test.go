package capture

// RuleNames gives the names of the rules of each language.
func RuleNames() map[string][]string {
	names := map[string][]string{}
	for _, r := range rules().all {
		names[r.language] = append(names[r.language], r.name)
	}
	return names
}
