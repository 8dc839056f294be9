package engine

// Explained reports whether Doctor knows a fault.
func Explained(fault string) bool { return explanationOf(fault).means != explanationOf("\x00").means }
