package testreport

import (
	"encoding/json"
	"io"
)

// suite is one file of tests in the JSON of jest and vitest.
type suite struct {
	Name             string // its path
	Status           string
	AssertionResults []struct{ FullName, Title, Status string }
}

// readSuites reads one file of tests after the other: of a report that is cut off the first ones count.
func (b *book) readSuites(r io.Reader) error {
	d := json.NewDecoder(r)
	if _, err := d.Token(); err != nil { // the {
		return unended(err)
	}
	known := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return unended(err)
		}
		if key == "testResults" {
			known, err = true, b.readList(d)
		} else {
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil {
			return unended(err)
		}
	}
	if !known {
		return errUnknown
	}
	if _, err := d.Token(); err != nil { // the }
		return unended(err)
	}
	return nil
}

func (b *book) readList(d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return orUnknown(err)
	}
	for d.More() {
		var s suite
		if err := d.Decode(&s); err != nil {
			return err
		}
		b.suite(s)
	}
	_, err := d.Token() // the ]
	return err
}

func orUnknown(err error) error {
	if err == nil {
		return errUnknown
	}
	return err
}

// suite notes the cases of a file. One that fails without a case that does could not be loaded.
func (b *book) suite(s suite) {
	named := false
	for _, c := range s.AssertionResults {
		name := c.FullName
		if name == "" {
			name = c.Title
		}
		switch c.Status {
		case "failed":
			named = true
			b.add(s.Name, name, failed)
		case "passed":
			b.add(s.Name, name, passed)
		default:
			b.add(s.Name, name, skipped)
		}
	}
	if s.Status == "failed" && !named {
		b.add("", s.Name, failed)
	}
}
