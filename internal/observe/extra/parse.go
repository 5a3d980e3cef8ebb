package extra

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"custos/internal/fleet"
)

// maxFacts is how many facts one program may tell, and maxValues how many
// numbers and texts one fact may have: more is a table, not facts.
const (
	maxFacts  = 10_000
	maxValues = 100
)

// output is what a program prints: {"facts": [{"name": "queue", "numbers":
// {"depth": 4}, "texts": {"state": "ok"}}]}. A null is a value it could not see.
type output struct {
	Facts []struct {
		Name    string              `json:"name"`
		Numbers map[string]*float64 `json:"numbers"`
		Texts   map[string]*string  `json:"texts"`
	} `json:"facts"`
}

var (
	errNoFacts = errors.New(`want {"facts": […]}`)
	errTrail   = errors.New("there is more after the first value")
)

// parse reads what the program of probe printed. Errors name line and column.
func parse(probe string, text []byte) ([]fleet.Extra, error) {
	var o output
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return nil, located(text, err, d.InputOffset())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, located(text, errTrail, d.InputOffset())
	}
	if o.Facts == nil {
		return nil, located(text, errNoFacts, 0)
	}
	if len(o.Facts) > maxFacts {
		return nil, fmt.Errorf("%d facts are too many: at most %d", len(o.Facts), maxFacts)
	}
	return facts(probe, o)
}

func facts(probe string, o output) ([]fleet.Extra, error) {
	out := make([]fleet.Extra, 0, len(o.Facts))
	seen := map[string]bool{}
	for i, f := range o.Facts {
		name := fleet.Line(f.Name, 200)
		switch {
		case name == "":
			return nil, fmt.Errorf("fact %d has no name", i+1)
		case seen[name]:
			return nil, fmt.Errorf("fact %d: the name %q was used before", i+1, name)
		case len(f.Numbers)+len(f.Texts) > maxValues:
			return nil, fmt.Errorf("fact %q has too many values: at most %d", name, maxValues)
		}
		seen[name] = true
		out = append(out, fleet.Extra{Name: name, Probe: probe,
			Numbers: leaves(f.Numbers, func(v float64) float64 { return v }),
			Texts:   leaves(f.Texts, safe)})
	}
	return out, nil
}

// safe makes a text of a foreign program fit to show.
func safe(s string) string { return fleet.Redact(fleet.Line(s, 1000)) }

func leaves[T any](in map[string]*T, clean func(T) T) map[string]fleet.Leaf[T] {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]fleet.Leaf[T], len(in))
	for key, v := range in {
		if v == nil {
			out[fleet.Line(key, 100)] = fleet.Unknown[T]("the program could not tell")
			continue
		}
		out[fleet.Line(key, 100)] = fleet.Known(clean(*v))
	}
	return out
}

// located says where in text an error is. read is how far the decoder came.
func located(text []byte, err error, read int64) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		read = syntax.Offset
	case errors.As(err, &kind):
		read = kind.Offset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		read, err = int64(len(text)), errors.New("the JSON ends too early")
	}
	before := text[:min(max(read-1, 0), int64(len(text)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(err.Error(), "json: "))
}
