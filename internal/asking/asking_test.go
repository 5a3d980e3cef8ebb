package asking

import (
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

var key = fleet.AlertKey{Rule: "r", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "builder"}}

// TestActions: an ask shows each action with its commands, and its hash is of exactly these: whatever would be
// done otherwise is another ask. What cannot be shown whole cannot be approved.
func TestActions(t *testing.T) {
	argv := []string{"tmux", "send-keys", "it's", ""}
	tell := teller{func(fleet.Action) []fleet.Command { return []fleet.Command{{Argv: argv}} }, nil}
	nudge := fleet.Action{ID: "a1", Do: "nudge", Subject: key.Subject, Text: "go on\nwith it", Dialog: "d"}
	asked := func(list ...fleet.Action) fleet.Ask { return Actions(fleet.Ask{Alert: key, Number: 7}, list, tell) }
	if got := asked(); got.Hash != "" || len(got.Lines) > 0 {
		t.Errorf("nothing would be done, and is asked for: %+v", got)
	}
	ask := asked(nudge)
	want := []string{"#7: approve 7 has this done, deny 7 leaves it:", "nudge agent/builder: go on with it", `runs: tmux send-keys "it's" ""`}
	if !slices.Equal(ask.Lines, want) || ask.Hash == "" || ask.Refused != "" {
		t.Errorf("%+v\nwant %q", ask, want)
	}
	if again := asked(nudge); again.Hash != ask.Hash {
		t.Error("the same is another ask")
	}
	hashes := map[string]string{ask.Hash: "the first"}
	for what, change := range map[string]func(*fleet.Action){
		"another action": func(a *fleet.Action) { a.ID = "a2" }, "another deed": func(a *fleet.Action) { a.Do = "stop" },
		"another agent": func(a *fleet.Action) { a.Subject.Name = "tester" }, "another text": func(a *fleet.Action) { a.Text += "!" },
		"another dialog": func(a *fleet.Action) { a.Dialog = "e" }, "another command": func(*fleet.Action) { argv = []string{"tmux", "send-keys", "yes"} },
	} {
		was, changed := argv, nudge
		change(&changed)
		got := asked(changed).Hash
		argv = was
		if other, taken := hashes[got]; taken {
			t.Errorf("%s has the hash of %s", what, other)
		}
		hashes[got] = what
	}
	argv = []string{"curl", "--token", "abcdefgh"}
	secret := asked(nudge)
	if text := strings.Join(secret.Lines, "\n"); strings.Contains(text, "abcdefgh") || secret.Hash == "" {
		t.Errorf("a secret is shown, or keeps it from being asked: %s", text)
	}
	argv = []string{"curl", "--token", "ijklmnop"}
	if got := asked(nudge); got.Hash == secret.Hash {
		t.Error("two secrets are one ask")
	}
	argv = []string{"echo", strings.Repeat("x", 5000)}
	if got := asked(nudge); got.Hash != "" || got.Refused == "" || len(got.Lines) > 0 || got.Number != 7 || got.Alert != key {
		t.Errorf("what cannot be shown whole: %+v", got)
	}
	argv = []string{"custos", "code", "trust"}
	nudge.Target.Code = &fleet.CodeFacts{Diff: "-old\n+new\n"}
	if got := asked(nudge).Lines; !slices.Equal(got[len(got)-2:], []string{"-old", "+new"}) {
		t.Errorf("the change of code: %q", got)
	}
}

// teller tells what a test says.
type teller struct {
	commands func(fleet.Action) []fleet.Command
	denied   map[string]string
}

func (t teller) Commands(a fleet.Action) []fleet.Command { return t.commands(a) }
func (t teller) Denied(do string) string                 { return t.denied[do] }

// TestDenied: what is done instead is shown with what would be done, and the ask is of the
// content of an item, not of its name.
func TestDenied(t *testing.T) {
	tell := teller{func(a fleet.Action) []fleet.Command { return []fleet.Command{{Argv: []string{a.Do, "x"}}} }, map[string]string{"approve-vault-item": "reject-vault-item"}}
	item := fleet.VaultItem{Name: "ops/pending/a.md", Title: "a mail account", Secrets: []string{"SMTP_USER", "SMTP_PASS"}, Digest: "d1"}
	move := fleet.Action{ID: "a1", Do: "approve-vault-item", Subject: fleet.Subject{Kind: fleet.KindVault, Name: item.Name}, Target: fleet.Target{Vault: &item}}
	ask := Actions(fleet.Ask{Alert: key, Number: 7}, []fleet.Action{move}, tell)
	about := []string{"says: a mail account", "asks for the secrets SMTP_USER, SMTP_PASS", "SHA-256 d1"}
	want := slices.Concat([]string{"#7: approve 7 has this done:", "approve-vault-item vault/ops/pending/a.md"}, about, []string{"runs: approve-vault-item x",
		"deny 7 has this done instead:", "reject-vault-item vault/ops/pending/a.md", "runs: reject-vault-item x"})
	if !slices.Equal(ask.Lines, want) || ask.Denied != "reject-vault-item" {
		t.Errorf("%q, %q", ask.Denied, ask.Lines)
	}
	item.Digest = "d2"
	if other := Actions(fleet.Ask{Alert: key, Number: 7}, []fleet.Action{move}, tell); other.Hash == ask.Hash {
		t.Error("another content is the same ask")
	}
	tell.denied = nil
	if other := Actions(fleet.Ask{Alert: key, Number: 7}, []fleet.Action{move}, tell); other.Denied != "" || other.Lines[0] != "#7: approve 7 has this done, deny 7 leaves it:" {
		t.Errorf("with nothing to be done instead: %+v", other)
	}
}

// Long texts are cut into lines, and nothing of them is lost.
func TestWrapped(t *testing.T) {
	for _, n := range []int{0, 1, widest - 1, widest, widest + 1, 3*widest + 7} {
		text := strings.Repeat("ä", n)
		lines := wrapped(text)
		if strings.Join(lines, "") != text || slices.ContainsFunc(lines, func(l string) bool { return len([]rune(l)) > widest }) {
			t.Errorf("of %d runes: %d lines", n, len(lines))
		}
	}
}

// TestIsAnswered: an order to answer that is not over, or an answer that was under way since the look, may be to the
// dialog that was seen.
func TestIsAnswered(t *testing.T) {
	seen := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	answer := fleet.Action{Do: string(fleet.OrderAnswer), Subject: key.Subject}
	ended := func(ago time.Duration) fleet.ActionRecord {
		return fleet.ActionRecord{Action: answer, Stage: fleet.StageEnded, Result: &fleet.Result{Ended: seen.Add(-ago)}}
	}
	other := ended(-time.Second)
	other.Subject.Name = "tester"
	nudged := ended(-time.Second)
	nudged.Do = "nudge"
	for what, c := range map[string]struct {
		past fleet.Past
		want bool
	}{
		"nothing":                    {fleet.Past{}, false},
		"ordered":                    {fleet.Past{Orders: []fleet.Order{{Do: fleet.OrderAnswer, Agent: "builder", State: fleet.OrderQueued}}}, true},
		"ordered, and over":          {fleet.Past{Orders: []fleet.Order{{Do: fleet.OrderAnswer, Agent: "builder", State: fleet.OrderDone}}}, false},
		"ordered of another":         {fleet.Past{Orders: []fleet.Order{{Do: fleet.OrderAnswer, Agent: "tester", State: fleet.OrderQueued}}}, false},
		"another order":              {fleet.Past{Orders: []fleet.Order{{Do: fleet.OrderNudge, Agent: "builder", State: fleet.OrderQueued}}}, false},
		"under way":                  {fleet.Past{Actions: []fleet.ActionRecord{{Action: answer, Stage: fleet.StageStarted}}}, true},
		"ended since the look":       {fleet.Past{Actions: []fleet.ActionRecord{ended(-time.Second)}}, true},
		"ended as it looked":         {fleet.Past{Actions: []fleet.ActionRecord{ended(0)}}, true},
		"ended before the look":      {fleet.Past{Actions: []fleet.ActionRecord{ended(time.Second)}}, false},
		"of another, or another do":  {fleet.Past{Actions: []fleet.ActionRecord{other, nudged}}, false},
		"ended, and it is not known": {fleet.Past{Actions: []fleet.ActionRecord{{Action: answer, Stage: fleet.StageEnded}}}, false},
	} {
		if got := IsAnswered(c.past, key.Subject, seen); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestDialog: a dialog is asked about where it is seen now, of an agent that may be touched, and can be answered
// with yes and no. One that was cut can be denied, and not approved.
func TestDialog(t *testing.T) {
	dialog := fleet.Dialog{Question: "Run make?", Tool: "Bash", Args: "make --token=abcdefgh12345678", Hash: "h", Choices: []fleet.Choice{{Name: "yes", Label: "Yes, run it"}, {Name: "no"}}}
	asked := func(change func(*fleet.Snapshot, *fleet.Agent, *fleet.Dialog, *fleet.Alert)) (fleet.Ask, bool) {
		var s fleet.Snapshot
		d, alert := dialog, fleet.Alert{AlertKey: key, Number: 7}
		d.Choices = slices.Clone(d.Choices)
		a := fleet.Agent{Name: "builder", Owner: fleet.OwnerCustos, Dialog: &d, Process: fleet.ProcessID{PID: 7, Start: 1}}
		s.Agents.Status = fleet.StatusOK
		change(&s, &a, &d, &alert)
		s.Agents.Value = append(s.Agents.Value, fleet.Agent{Name: "tester"}, a)
		return Dialog(s, alert)
	}
	ask, ok := asked(func(*fleet.Snapshot, *fleet.Agent, *fleet.Dialog, *fleet.Alert) {})
	want := []string{"#7: agent builder asks: Run make?", "tool: Bash", "make --token=***", `approve 7 answers "Yes, run it", deny 7 answers "no"`}
	if !ok || !slices.Equal(ask.Lines, want) || ask.Yes != "yes" || ask.No != "no" || ask.Dialog != "h" || ask.Agent != "builder" || ask.Hash == "" {
		t.Errorf("%v, %+v\nwant %q", ok, ask, want)
	}
	for what, change := range map[string]func(*fleet.Snapshot, *fleet.Agent, *fleet.Dialog, *fleet.Alert){
		"agents were seen long ago": func(s *fleet.Snapshot, _ *fleet.Agent, _ *fleet.Dialog, _ *fleet.Alert) {
			s.Agents.Status = fleet.StatusStale
		},
		"agents are not seen":      func(s *fleet.Snapshot, _ *fleet.Agent, _ *fleet.Dialog, _ *fleet.Alert) { s.Agents.Blind("hidden") },
		"it is a person's":         func(_ *fleet.Snapshot, a *fleet.Agent, _ *fleet.Dialog, _ *fleet.Alert) { a.Owner = fleet.OwnerForeign },
		"whose it is is not known": func(_ *fleet.Snapshot, a *fleet.Agent, _ *fleet.Dialog, _ *fleet.Alert) { a.Owner = fleet.OwnerUnknown },
		"it shows none":            func(_ *fleet.Snapshot, a *fleet.Agent, _ *fleet.Dialog, _ *fleet.Alert) { a.Dialog = nil },
		"it has no no":             func(_ *fleet.Snapshot, _ *fleet.Agent, d *fleet.Dialog, _ *fleet.Alert) { d.Choices = d.Choices[:1] },
		"it has no yes":            func(_ *fleet.Snapshot, _ *fleet.Agent, d *fleet.Dialog, _ *fleet.Alert) { d.Choices = d.Choices[1:] },
		"the alert is of no agent": func(_ *fleet.Snapshot, _ *fleet.Agent, _ *fleet.Dialog, l *fleet.Alert) {
			l.Subject.Kind = fleet.KindLock
		},
		"the alert is of another":   func(_ *fleet.Snapshot, _ *fleet.Agent, _ *fleet.Dialog, l *fleet.Alert) { l.Subject.Name = "nobody" },
		"the other shows no dialog": func(_ *fleet.Snapshot, _ *fleet.Agent, _ *fleet.Dialog, l *fleet.Alert) { l.Subject.Name = "tester" },
	} {
		if got, ok := asked(change); ok || got.Hash != "" || len(got.Lines) > 0 {
			t.Errorf("%s, and it is asked: %+v", what, got)
		}
	}
	for what, change := range map[string]func(*fleet.Snapshot, *fleet.Agent, *fleet.Dialog, *fleet.Alert){
		"another dialog":  func(_ *fleet.Snapshot, _ *fleet.Agent, d *fleet.Dialog, _ *fleet.Alert) { d.Hash = "i" },
		"another process": func(_ *fleet.Snapshot, a *fleet.Agent, _ *fleet.Dialog, _ *fleet.Alert) { a.Process.Start = 2 },
		"another boot":    func(_ *fleet.Snapshot, a *fleet.Agent, _ *fleet.Dialog, _ *fleet.Alert) { a.Process.Boot = "c" },
	} {
		if got, ok := asked(change); !ok || got.Hash == ask.Hash {
			t.Errorf("%s is the same ask", what)
		}
	}
	for _, cut := range []func(*fleet.Dialog){func(d *fleet.Dialog) { d.Question += "…" }, func(d *fleet.Dialog) { d.Args += "…" }} {
		got, ok := asked(func(_ *fleet.Snapshot, _ *fleet.Agent, d *fleet.Dialog, _ *fleet.Alert) { cut(d) })
		if last := got.Lines[len(got.Lines)-1]; !ok || got.Yes != "" || got.No != "no" || !strings.Contains(last, `cannot be approved here: deny 7 answers "no"`) {
			t.Errorf("one that was cut: %v, %+v", ok, got)
		}
	}
}
