package share

// Known reports whether an error of that text is a kind that keeps on its way.
func Known(text string) bool {
	for _, kind := range kinds {
		if kind.Error() == text {
			return true
		}
	}
	return false
}

// Sent is an error as another process has it.
func Sent(err error) error { return failureOf(err).err() }
