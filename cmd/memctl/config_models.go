package main

// modelsConfig is the table [models]: where models and ONNX Runtime are pulled from.
type modelsConfig struct {
	Hub      string `toml:"hub"`      // default pull.DefaultHub
	Releases string `toml:"releases"` // of ONNX Runtime; default pull.DefaultReleases
}
