// Package recording writes and reads what a plan follows from, in one canonical form.
package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// Version is the version of the format.
const Version = 1

// Encode writes a recording in its one canonical form: indented JSON,
// lists that have no order of their own sorted, times in UTC, a newline at the
// end. What looks like a secret is replaced by ***, in every string. It sets the
// version. It fails only for what JSON has no word for (a
// figure that is infinite or not a number).
func Encode(r fleet.Recording) ([]byte, error) {
	r.Version = Version
	r.Snapshot, r.Past = sortedSnapshot(r.Snapshot), sortedPast(r.Past)
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot write recording: %w", err)
	}
	// Broken UTF-8 is written as an escape that, once read, is written as the
	// character itself: only the second form is stable.
	if bytes.Contains(b, []byte(`\ufffd`)) {
		var again fleet.Recording
		if err := json.Unmarshal(b, &again); err != nil {
			return nil, fmt.Errorf("cannot write recording: %w", err)
		}
		if b, err = json.MarshalIndent(again, "", "  "); err != nil {
			return nil, fmt.Errorf("cannot write recording: %w", err)
		}
	}
	return append(redactJSON(b), '\n'), nil
}

// Decode reads what Encode wrote. A recording of another
// version, a field or a word that it does not know, and anything after the end are
// refused: to leave out what one does not understand would give another plan. So is one
// without its past, policy or rules. custos is the version of this program.
func Decode(b []byte, custos string) (fleet.Recording, error) {
	by, err := checkVersion(b)
	if err != nil {
		return fleet.Recording{}, err
	}
	var r fleet.Recording
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return fleet.Recording{}, fmt.Errorf("cannot read recording: line %d: %w%s", lineOf(b, err, d.InputOffset()), plain(err), by.hint(err, custos))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fleet.Recording{}, fmt.Errorf("cannot read recording: line %d: something follows its end", lineAt(b, d.InputOffset()))
	}
	if err := whole(b); err != nil {
		return fleet.Recording{}, err
	}
	if r.Snapshot.At.IsZero() {
		return fleet.Recording{}, errors.New("cannot read recording: it does not say when it was made: snapshot.at is missing")
	}
	if err := fleet.CheckWords(r); err != nil {
		return fleet.Recording{}, fmt.Errorf("cannot read recording: %w", err)
	}
	return r, nil
}

// whole refuses a recording that lacks what its plan follows from, or says it twice: which
// of the two is meant, nothing tells.
func whole(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("cannot read recording: %w", err)
	}
	has := map[string]bool{}
	for d.More() {
		var v json.RawMessage
		key, err := d.Token()
		if err = cmp.Or(err, d.Decode(&v)); err != nil {
			return fmt.Errorf("cannot read recording: %w", err)
		}
		name := strings.ToLower(fmt.Sprint(key)) // as it was read
		if _, twice := has[name]; twice {
			return fmt.Errorf("cannot read recording: line %d: it says %s twice: %s", lineAt(b, d.InputOffset()), name, anew)
		}
		has[name] = string(v) != "null"
	}
	for _, name := range []string{"snapshot", "past", "policy", "rules"} {
		if !has[name] {
			return fmt.Errorf("cannot read recording: it has no %s: %s", name, anew)
		}
	}
	return nil
}

// anew says what to do about a recording that no Custos wrote so.
const anew = "it was edited: record it anew with custos record"

// writer is the program that wrote a recording, and in which version of the format.
type writer struct {
	Version int    `json:"version"`
	Custos  string `json:"custos"`
}

// hint says what to do about a recording that another Custos wrote, where that is
// what is wrong with it: nothing else distinguishes one field that there is not from another.
func (w writer) hint(err error, custos string) string {
	switch {
	case !strings.Contains(err.Error(), "unknown field"):
		return ""
	case w.Custos == custos:
		return ": it was edited, or is damaged"
	}
	return ": " + w.judge()
}

func (w writer) judge() string {
	return "judge it with the custos that wrote it (" + cmp.Or(fleet.Line(w.Custos, 40), "it does not say which") + ")"
}

func checkVersion(b []byte) (w writer, err error) {
	err = json.Unmarshal(b, &w)
	switch {
	case len(b) > 0 && err != nil && strings.HasPrefix(err.Error(), "unexpected end"):
		return w, fmt.Errorf("cannot read recording: line %d: it ends in the middle: copy it anew", lineOf(b, err, 0))
	case err != nil:
		return w, fmt.Errorf("cannot read recording: line %d: %w", lineOf(b, err, 0), plain(err))
	case w.Version == 0:
		return w, errors.New("cannot read recording: it has no version")
	case w.Version != Version:
		return w, fmt.Errorf("cannot read recording: it is of version %d, and this custos reads version %d: %s", w.Version, Version, w.judge())
	}
	return w, nil
}

// plain says a mistake in words of the recording, not of the program.
func plain(err error) error {
	var typed *json.UnmarshalTypeError
	if !errors.As(err, &typed) {
		return err
	}
	want := "another value"
	switch typed.Type.Kind() {
	case reflect.Struct, reflect.Map:
		want = "an object"
	case reflect.Slice, reflect.Array:
		want = "an array"
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		want = "a number"
	}
	got, field := "a "+typed.Value, ""
	if strings.ContainsAny(typed.Value[:1], "ao") { // array, object
		got = "an " + typed.Value
	}
	if typed.Field != "" {
		field = typed.Field + ": "
	}
	return fmt.Errorf("%swant %s, not %s", field, want, got)
}

// lineOf returns the line of the mistake, or of where reading stopped.
func lineOf(b []byte, err error, stopped int64) int {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return lineAt(b, syntax.Offset)
	}
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) && typed.Offset > 0 {
		return lineAt(b, typed.Offset)
	}
	return lineAt(b, stopped)
}

func lineAt(b []byte, offset int64) int {
	return 1 + bytes.Count(b[:min(max(offset, 0), int64(len(b)))], []byte("\n"))
}

// sortedSnapshot returns s with its lists of subjects sorted by name. Lists
// whose order means something (a process tree, a tail) are left alone.
func sortedSnapshot(s fleet.Snapshot) fleet.Snapshot {
	s.Host.Value.Mounts = sorted(s.Host.Value.Mounts, func(m fleet.Mount) string { return m.Path })
	s.Processes.Value = sorted(s.Processes.Value, func(p fleet.Process) string { return fmt.Sprintf("%010d %020d", p.ID.PID, p.ID.Start) })
	s.Sessions.Value = sorted(s.Sessions.Value, func(p fleet.Pane) string { return p.ID.Socket + "\x00" + p.ID.Pane })
	s.Agents.Value = sorted(s.Agents.Value, func(a fleet.Agent) string { return fmt.Sprintf("%s\x00%010d", a.Name, a.Process.PID) })
	s.Repos.Value.Repos = sorted(s.Repos.Value.Repos, func(r fleet.Repo) string { return r.Path })
	s.Repos.Value.Worktrees = sorted(s.Repos.Value.Worktrees, func(w fleet.Worktree) string { return w.Path })
	s.Locks.Value = sorted(s.Locks.Value, func(l fleet.Lock) string { return l.Path })
	s.Phases.Value = sorted(s.Phases.Value, func(p fleet.Phase) string { return p.Path })
	s.Vaults.Value = sorted(s.Vaults.Value, func(v fleet.VaultItem) string { return v.Name })
	s.Logs.Value = sorted(s.Logs.Value, func(l fleet.Log) string { return l.Path })
	s.Extra.Value = sorted(s.Extra.Value, func(e fleet.Extra) string { return e.Probe + "\x00" + e.Name })
	return s
}

func sortedPast(p fleet.Past) fleet.Past {
	p.Alerts = sorted(p.Alerts, func(a fleet.Alert) string { return a.AlertKey.String() })
	p.Actions = sorted(p.Actions, func(r fleet.ActionRecord) string { return r.ID })
	p.Silences = sorted(p.Silences, func(s fleet.Silence) string { return s.Rule + "\x00" + s.Subject.String() })
	p.Agents = sorted(p.Agents, func(r fleet.AgentRecord) string { return r.Name })
	p.Quotas = sorted(p.Quotas, func(q fleet.AccountQuota) string { return q.Account + "\x00" + q.Window })
	p.Registrations = sorted(p.Registrations, func(r fleet.Registration) string { return r.Name })
	return p
}

// sorted returns a sorted copy; equals keep their order, nil stays nil.
func sorted[T any](list []T, key func(T) string) []T {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return list
}
