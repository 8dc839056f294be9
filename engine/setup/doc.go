// Package setup is what a file is opened with: options with their defaults and limits, the settings of conversations, and what models have to do.
package setup
