package credential

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// misread says where in a file something is wrong, and what.
func misread(file string, line int, err error) error {
	return fmt.Errorf("cannot read %s:%d: %w", file, line, err)
}

// lineOf is the line of a text at which reading it as JSON went wrong; the first where that is not said.
func lineOf(text []byte, err error) int {
	var at int64
	if bad, is := errors.AsType[*json.SyntaxError](err); is {
		at = bad.Offset
	}
	if bad, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		at = bad.Offset
	}
	last := max(0, min(int(at), len(text))-1) // the last byte that was read is the one that is wrong
	return 1 + bytes.Count(text[:last], []byte("\n"))
}

// lineOfKey is the first line with a key; the first where it is missing.
func lineOfKey(text []byte, key string) int {
	before, _, is := bytes.Cut(text, []byte(`"`+key+`"`))
	if !is {
		return 1
	}
	return 1 + bytes.Count(before, []byte("\n"))
}
