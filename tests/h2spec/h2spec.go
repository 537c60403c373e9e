//go:build tools

// Package h2spec names the program that go.mod and go.sum pin.
package h2spec

import _ "github.com/summerwind/h2spec/cmd/h2spec"
