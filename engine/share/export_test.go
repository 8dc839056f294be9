package share

// Sent is an error as another process has it.
func Sent(err error) error { return failureOf(err).err() }
