package plugin

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says whether a problem keeps a plugin from running.
type Severity string

// An error refuses the plugin; a warning is told, and it runs.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is one thing that is wrong with a plugin. Line counts from 1.
type Problem struct {
	File     string
	Line     int
	Severity Severity
	Text     string
}

// String returns "file:line: severity: text".
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", p.File, p.Line, p.Severity, p.Text)
}

// Refused says whether there is an error among the problems.
func Refused(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == Error })
}

// problems gathers what is wrong with one file.
type problems struct {
	file string
	list []Problem
}

func (l *problems) wrong(line int, format string, args ...any) {
	l.list = append(l.list, Problem{l.file, max(line, 1), Error, fmt.Sprintf(format, args...)})
}

func (l *problems) warn(line int, format string, args ...any) {
	l.list = append(l.list, Problem{l.file, max(line, 1), Warning, fmt.Sprintf(format, args...)})
}

// sorted returns the problems by line.
func (l *problems) sorted() []Problem {
	slices.SortStableFunc(l.list, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return l.list
}
