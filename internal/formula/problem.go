package formula

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says whether a problem keeps a formula from running.
type Severity string

// An error refuses the formula; a warning is told and the formula runs.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is one thing that is wrong with a formula, or one key that nothing
// acts on. Line and Column count from 1; 0 is unknown.
type Problem struct {
	File     string
	Line     int
	Column   int
	Severity Severity
	Text     string
}

// String returns "file:line:column: severity: text".
func (p Problem) String() string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	return fmt.Sprintf("%s: %s: %s", at, p.Severity, p.Text)
}

// Refused reports whether there is an error among the problems.
func Refused(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == Error })
}

// problems gathers what is wrong.
type problems []Problem

func (l *problems) add(at Place, s Severity, format string, args ...any) {
	*l = append(*l, Problem{at.File, at.Line, at.Column, s, fmt.Sprintf(format, args...)})
}

func (l *problems) wrong(at Place, format string, args ...any) { l.add(at, Error, format, args...) }
func (l *problems) warn(at Place, format string, args ...any)  { l.add(at, Warning, format, args...) }

// sorted returns the problems by place, each once.
func (l problems) sorted() []Problem {
	slices.SortStableFunc(l, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(l)
}
