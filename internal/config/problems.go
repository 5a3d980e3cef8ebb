package config

import (
	"fmt"
	"sort"
	"strings"
)

// problem is one mistake, at a line of the file (0: of the whole file).
type problem struct {
	line int
	text string
}

// problems are all mistakes of one file. As an error they read one a line.
type problems struct {
	file string
	list []problem
}

func (p *problems) add(line int, format string, args ...any) {
	p.list = append(p.list, problem{line, fmt.Sprintf(format, args...)})
}

// err returns nil when there is nothing wrong.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	sort.SliceStable(p.list, func(i, j int) bool { return p.list[i].line < p.list[j].line })
	return &Mistake{p}
}

// Error returns "cannot read FILE:LINE: …", one mistake a line.
func (p *problems) Error() string {
	out := make([]string, len(p.list))
	for i, q := range p.list {
		where := p.file
		if q.line > 0 {
			where = fmt.Sprintf("%s:%d", p.file, q.line)
		}
		out[i] = fmt.Sprintf("cannot read %s: %s", where, q.text)
	}
	return strings.Join(out, "\n")
}

// Mistake marks an error as a mistake in the configuration, for packages that
// read their own tables of it: a command that meets one exits with code 2.
type Mistake struct{ Err error }

// Error returns the error's own text.
func (m *Mistake) Error() string { return m.Err.Error() }

// Unwrap returns the error itself.
func (m *Mistake) Unwrap() error { return m.Err }
