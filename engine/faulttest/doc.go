// Package faulttest has no code but tests: they prove that a memory file opens after every crash with everything that was acknowledged, and that
// no fault of a disk, no damage and no full disk takes the host's process down or passes in silence.
//
// A child process lives a life of a file (life_test.go) under a tracer that writes down every change of a file (testdata/tracer.c). From that
// record the folder is remade as a loss of power may leave it at any moment (disk_test.go), other children open what was remade, and a model says
// whether everything acknowledged is there and nothing else (judge_test.go). The same tracer kills the process within a write, and makes
// calls of the system fail.
//
// Beside that, many callers use one engine at once (load_test.go), and the life of a file is simulated in which all of it comes together, against a
// model of what it says (simulation_test.go).
package faulttest
