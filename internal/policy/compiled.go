package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Format is the version of the compiled form.
const Format = 1

// mostCompiled is how large a compiled policy may be.
const mostCompiled = 4 << 20

// Compiled is a policy with the places of one agent: all that a verdict needs.
type Compiled struct {
	Agent    string `json:"agent,omitempty"`
	Instance string `json:"instance,omitempty"`
	Policy   Policy `json:"policy"`
	Places   Places `json:"places"`
}

// File is where the compiled policy of an agent lies, below the run folder.
func File(run, agent string) string { return filepath.Join(run, "policies", agent+".json") }

type envelope struct {
	Format int             `json:"format"`
	Sum    string          `json:"sha256"` // of body, as it stands
	Body   json.RawMessage `json:"body"`
}

// Encode writes a policy as one JSON document with its own sum.
func (c Compiled) Encode() ([]byte, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("cannot write policy %s: %w", c.Policy.Name, err)
	}
	text, err := json.Marshal(envelope{Format, sum(body), body})
	if err != nil {
		return nil, fmt.Errorf("cannot write policy %s: %w", c.Policy.Name, err)
	}
	return append(text, '\n'), nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// Decode reads a compiled policy. One that is torn, altered, of another format, or that says
// what this version does not know is an error, and never a verdict.
func Decode(text []byte) (Compiled, error) {
	var c Compiled
	var e envelope
	if len(text) > mostCompiled {
		return c, fmt.Errorf("the compiled policy is larger than %d bytes", mostCompiled)
	}
	if err := strict(text, &e); err != nil {
		return c, fmt.Errorf("the compiled policy is torn: %w", err)
	}
	switch {
	case e.Format != Format:
		return c, fmt.Errorf("the compiled policy has format %d, and this program reads %d", e.Format, Format)
	case e.Sum != sum(e.Body):
		return c, errors.New("the compiled policy was altered: its sum is another one")
	}
	if err := strict(e.Body, &c); err != nil {
		return Compiled{}, fmt.Errorf("the compiled policy is not read: %w", err)
	}
	for _, r := range c.Policy.Rules {
		if r.Verdict.rank() < 1 {
			return Compiled{}, fmt.Errorf("the compiled policy has a verdict that is none: %q", r.Verdict)
		}
	}
	return c, nil
}

func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind its end")
	}
	return nil
}

// Call is a call as the agent of a compiled policy makes it.
func (c Compiled) Call(tool, cwd string, input json.RawMessage) Call {
	return Reading(tool, cwd, input, c.Places)
}
