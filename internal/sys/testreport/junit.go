package testreport

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// What one XML report may be made of.
const (
	mostDepth = 100     // elements in one another
	mostToken = 4 << 20 // bytes of one tag, or of one text
)

// junit is where the reading of an XML report is.
type junit struct {
	*book
	open   []string // names of the elements that are open
	suites []string // names of the suites that are
	any    bool     // there was a suite
	class  string   // of the case that is open
	test   string
	came   outcome
}

// readXML reads token by token: the decoder keeps nothing of what was read.
func (b *book) readXML(r io.Reader) error {
	j := &junit{book: b}
	whole := &tokens{r: r}
	d := xml.NewDecoder(whole)
	d.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") {
			return in, nil
		}
		return nil, fmt.Errorf("its encoding %.40q is not read: want UTF-8", charset)
	}
	for {
		whole.left = mostToken
		t, err := d.RawToken()
		switch {
		case errors.Is(err, io.EOF) && len(j.open) == 0 && j.any:
			return nil
		case errors.Is(err, io.EOF) && len(j.open) == 0:
			return errUnknown
		case err != nil:
			return unended(err)
		}
		if err := j.take(t); err != nil {
			return err
		}
	}
}

func (j *junit) take(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if len(j.open) == mostDepth {
			return fmt.Errorf("its elements are more than %d in one another", mostDepth)
		}
		j.begin(t)
		j.open = append(j.open, t.Name.Local)
	case xml.EndElement:
		if len(j.open) == 0 || j.open[len(j.open)-1] != t.Name.Local {
			return fmt.Errorf("</%.40s> ends what did not begin", t.Name.Local)
		}
		j.open = j.open[:len(j.open)-1]
		j.end(t.Name.Local)
	}
	return nil
}

// in is the element that is open; "" at the top.
func (j *junit) in() string {
	if len(j.open) == 0 {
		return ""
	}
	return j.open[len(j.open)-1]
}

func (j *junit) begin(e xml.StartElement) {
	switch name := e.Name.Local; {
	case name == "testsuites":
		j.any = true
	case name == "testsuite":
		j.any, j.suites = true, append(j.suites, attribute(e, "name"))
	case name == "testcase":
		j.class, j.test, j.came = attribute(e, "classname"), attribute(e, "name"), passed
		if j.class == "" {
			j.class = j.suite()
		}
	case j.in() == "testcase":
		j.came = worse(j.came, e.Name.Local)
	case j.in() == "testsuite" && (name == "failure" || name == "error"):
		j.add(j.suite(), j.suite(), failed) // of no case
	}
}

func (j *junit) suite() string {
	if len(j.suites) == 0 {
		return ""
	}
	return j.suites[len(j.suites)-1]
}

// worse is what a case came to, by one more element in it. Surefire has rerunFailure beside a
// failure, and flakyFailure where there is none.
func worse(came outcome, element string) outcome {
	switch element {
	case "failure", "error":
		return failed
	case "flakyFailure", "flakyError":
		if came != failed {
			return retried
		}
	case "skipped":
		if came == passed {
			return skipped
		}
	}
	return came
}

func (j *junit) end(name string) {
	switch {
	case name == "testcase":
		j.add(j.class, j.test, j.came)
	case name == "testsuite" && len(j.suites) > 0:
		j.suites = j.suites[:len(j.suites)-1]
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// tokens refuses what makes one token too large.
type tokens struct {
	r    io.Reader
	left int
}

func (t *tokens) Read(p []byte) (int, error) {
	if t.left <= 0 {
		return 0, fmt.Errorf("one tag or text of it is larger than %d MiB: what comes after was not read", mostToken>>20)
	}
	n, err := t.r.Read(p[:min(len(p), t.left)])
	t.left -= n
	return n, err
}
