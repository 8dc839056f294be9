package probe

import "time"

// What is measured of speed is of no interest to tests.
func init() { speedFor = 10 * time.Millisecond }
