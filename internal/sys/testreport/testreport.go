// Package testreport reads reports of test runs: which tests failed. Three forms are known, and
// told apart by what is in them:
//
//   - JUnit XML, which no standard describes: pytest --junitxml, gotestsum --junitfile, vitest,
//     jest-junit, Maven Surefire and others agree that a testcase with a failure or an error in it
//     has failed, and on little else. Suites may lie in suites.
//   - go test -json: one event a line (go doc test2json).
//   - the JSON of jest and vitest (--reporter=json).
//
// What it is given may have been written by anybody: it reads 16 MiB at most, keeps names only, and
// of a report that is cut off, or broken, what came before that. XML is read token by token: no
// entity but those of XML itself is known, so that none grows, and nothing is kept of what lies in
// a case. (github.com/joshdk/go-junit reads the same elements; it takes a report as a whole into
// memory with all output in it, without a bound, and would be of use for one of the three only.)
package testreport

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// What is read and kept of a report.
const (
	mostBytes = 16 << 20
	mostNames = 200
	mostRunes = 200 // of a name
)

// Report is what a report says.
type Report struct {
	Ran    int      // cases in it; one that was tried twice counts twice
	Failed []string // names of tests that failed, in the order they came; 200 at most
	More   int      // how many more failed
	Flaky  []string // names of tests that failed, and passed when they were tried again; 200 at most
}

// outcome is what a case came to.
type outcome int

const (
	skipped outcome = iota
	passed
	failed
	retried // it failed and was tried again until it passed
)

// book is a report as far as it is read.
type book struct {
	root    string // of the tree that was tested, with a slash at its end: names are without it
	ran     int
	is      map[string]outcome // of what failed: failed or retried
	names   []string           // of is, in the order they came
	parents map[string]bool    // names that are a test with subtests, one of which failed
}

// Read reads a report to its end. Names that begin with root, the folder of the tree that was
// tested, lose it: the same test is called the same in another tree. What could be read is
// returned beside an error.
func Read(r io.Reader, root string) (Report, error) {
	b := &book{root: strings.TrimSuffix(root, "/") + "/", is: map[string]outcome{}, parents: map[string]bool{}}
	err := b.read(bufio.NewReaderSize(&limited{r: r, left: mostBytes}, 64<<10))
	return b.report(), err
}

var errUnknown = errors.New("it is neither JUnit XML, nor what go test -json prints, nor JSON of jest or vitest")

// read tells the form by the first line that begins like one: a program that is asked for its
// report on standard output may have said something else before.
func (b *book) read(r *bufio.Reader) error {
	if mark, _ := r.Peek(3); string(mark) == "\uFEFF" {
		_, _ = r.Discard(3)
	}
	for {
		head, err := r.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			return errUnknown
		case err != nil:
			return err
		case head[0] == '<':
			return b.readXML(r)
		case head[0] == '{' && isEvent(r):
			return b.readEvents(r)
		case head[0] == '{':
			return b.readSuites(r)
		case bytes.ContainsAny(head, " \t\r\n"):
			_, _ = r.Discard(1)
			continue
		}
		if _, _, err := line(r); err != nil {
			return errUnknown
		}
	}
}

// isEvent says whether the first line is an event of go test -json.
func isEvent(r *bufio.Reader) bool {
	head, _ := r.Peek(r.Size())
	first, _, _ := bytes.Cut(head, []byte("\n"))
	var e struct{ Action string }
	return json.Unmarshal(first, &e) == nil && e.Action != ""
}

// line reads one line; long says that it is longer than what is read at once, and was passed over.
func line(r *bufio.Reader) (text []byte, long bool, err error) {
	text, more, err := r.ReadLine()
	for more && err == nil {
		long = true
		_, more, err = r.ReadLine()
	}
	return text, long, err
}

// add notes a case.
func (b *book) add(class, name string, came outcome) {
	b.ran++
	full := b.name(class, name)
	was, known := b.is[full]
	switch {
	case came == passed && was == failed, came == retried && !known:
		b.is[full] = retried
	case came == failed:
		b.is[full] = failed
		for i := strings.IndexByte(name, '/'); i >= 0 && i < 4*mostRunes; {
			b.parents[b.name(class, name[:i])] = true
			next := strings.IndexByte(name[i+1:], '/')
			if next < 0 {
				break
			}
			i += 1 + next
		}
	}
	if _, is := b.is[full]; is && !known {
		b.names = append(b.names, full)
	}
}

// name is what a case is called: by its class, or its suite, and its own name.
func (b *book) name(class, name string) string {
	class, name = b.within(class), b.within(name)
	if class != "" && class != name {
		name = class + " " + name
	}
	return cut(strings.ToValidUTF8(name, "\uFFFD"))
}

func (b *book) within(path string) string { return strings.TrimPrefix(strings.TrimSpace(path), b.root) }

func cut(s string) string {
	if utf8.RuneCountInString(s) <= mostRunes {
		return s
	}
	return string([]rune(s)[:mostRunes-1]) + "…"
}

// report is what was read. A test that has failed by its subtest is named by that alone.
func (b *book) report() Report {
	out := Report{Ran: b.ran}
	for _, name := range b.names {
		switch {
		case b.parents[name] && b.is[name] == failed:
		case b.is[name] == failed:
			out.Failed = append(out.Failed, name)
		default:
			out.Flaky = append(out.Flaky, name)
		}
	}
	out.More = max(0, len(out.Failed)-mostNames)
	out.Failed = slices.Clip(out.Failed[:min(len(out.Failed), mostNames)])
	out.Flaky = slices.Clip(out.Flaky[:min(len(out.Flaky), mostNames)])
	return out
}

// limited reads so many bytes, and fails where there are more.
type limited struct {
	r    io.Reader
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		if n, err := l.r.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("it is larger than %d MiB: the rest was not read", mostBytes>>20)
	}
	n, err := l.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// unended puts into words that a report ends in its middle.
func unended(err error) error {
	var bad *xml.SyntaxError
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &bad) && bad.Msg == "unexpected EOF" {
		return errors.New("it ends in its middle")
	}
	return err
}
