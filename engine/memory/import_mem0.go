package memory

// fromMem0 gives a row of mem0's export the keys of ours: what it says is its memory, whose it is makes the scope, and its run is the session.
// Its metadata is whatever the user wanted there, so that a key of ours in it means something else: only the category is taken, other keys
// go to Extra under names of their own.
func fromMem0(raw map[string]any) {
	text, ok := raw["memory"].(string)
	if _, ours := raw["text"]; ours || !ok {
		return
	}
	metadata, _ := metadataOf(raw["metadata"])
	delete(raw, "memory")
	delete(raw, "metadata")
	raw["text"] = text
	for key, value := range metadata {
		_, taken := raw[key]
		if _, field := memoryKeys[key]; taken || field && key != "category" {
			key = "mem0_" + key
		}
		raw[key] = value
	}
	for _, owner := range []string{"user", "agent"} {
		if id, _ := raw[owner+"_id"].(string); id != "" && raw["scope"] == nil {
			raw["scope"] = owner + ":" + id
		}
	}
	if run, _ := raw["run_id"].(string); run != "" {
		delete(raw, "run_id")
		raw["source_session"] = run
	}
}
