package arch

import (
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"slices"
)

// mostLines of code a package may have, without comments, empty lines and tests.
const mostLines = 5000

// large are the packages that may have more: cli, one file a command, and the pages that it shows, with the three faces
// (top, web, setup), policies, other hosts, and what is left of it on a client of those; daemon, which puts the counting of what models used, budgets and the listener of the
// page together with all else; store, which is the only one with SQL; fleet, whose words are those of every noun, and control and ledger, which have a file for each (in control what people at other hosts only ask for, too), ledger also the addresses of two other systems.
var large = map[string]int{"internal/cli": 12600, "internal/fleet": 5430, "internal/control": 6060, "internal/ledger": 6420, "internal/daemon": 6120, "internal/store": 5300}

// tooLarge names the packages with more lines than they may have.
func tooLarge(lines map[string]int) (found []string) {
	for _, pkg := range slices.Sorted(maps.Keys(lines)) {
		most := max(mostLines, large[pkg])
		if lines[pkg] > most {
			found = append(found, fmt.Sprintf("%s has %d lines of code, and may have %d", pkg, lines[pkg], most))
		}
	}
	return found
}

// linesOf counts the lines of a file on which there is code.
func linesOf(src []byte) int {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, src, nil, 0)
	seen := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return len(seen)
		}
		for at := range 1 + newlines(text, tok) {
			seen[file.Line(pos)+at] = true
		}
	}
}

// newlines counts those within a token: a text may have several lines.
func newlines(text string, tok token.Token) (n int) {
	if tok != token.STRING {
		return 0
	}
	for _, r := range text {
		if r == '\n' {
			n++
		}
	}
	return n
}
