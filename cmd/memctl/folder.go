package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// dataFolder is where the user's programs keep their data: $XDG_DATA_HOME, or the custom of the operating system.
func dataFolder() (string, error) {
	if folder := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(folder) {
		return folder, nil
	}
	if runtime.GOOS == "windows" {
		if folder := os.Getenv("LocalAppData"); folder != "" {
			return folder, nil
		}
		return "", errors.New("%LocalAppData% is not set")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support"), nil
	}
	return filepath.Join(home, ".local", "share"), nil
}

// modelsFolder is where models are looked for by their names, and pulled to: $MEMCTL_MODELS, or models in the user's cache folder for mallard. "" where the
// system has no such folder.
func modelsFolder() string {
	if folder := os.Getenv("MEMCTL_MODELS"); folder != "" {
		return folder
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "mallard", "models")
}
