package assess

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"custos/internal/fleet"
	"custos/internal/rules"
)

// Each file in testdata is named after a rule and holds its cases. A case is a
// story in steps. A step starts from the healthy world:
//
//	at DURATION [patrol]       when, after the start
//	clock back DURATION        the newest record lies so far ahead of the clock
//	set KIND JSON              changes fields of the one thing of that kind
//	set agents [JSON, …]       puts other agents in the place of the one
//	set prs [JSON, …]          and other pull requests
//	set works [JSON, …]        and other work of the ledger
//	gone KIND                  takes it away
//	part NAME JSON             changes how a part was seen
//
// and then says what must be true of the rule:
//
//	want none | pending | firing | resolved    its alert; none: there is none
//	want held            the alert that there was stands, blind, and there is no finding
//	want cannot-tell     it says that it cannot tell, and has no finding
//	want fresh | stale   whether an action may rest on the finding
//	want causes RULE…    the rules that explain it
//	wish DO SUBJECT      in this order, all of them; "no wishes" for none
//	wish? DO SUBJECT     one for which it cannot be told whether the target qualifies
func TestCases(t *testing.T) {
	set := builtin(t)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		rule := strings.TrimSuffix(filepath.Base(file), ".txtar")
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			t.Run(rule+"/"+f.Name, func(t *testing.T) {
				s := &story{t: t, set: set, rule: rule}
				for _, line := range strings.Split(string(f.Data), "\n") {
					s.line(strings.TrimSpace(line))
				}
				s.finishWishes()
			})
		}
	}
}

// TestEveryRuleHasItsCases fails for a built-in rule without one of the four.
func TestEveryRuleHasItsCases(t *testing.T) {
	for _, r := range builtin(t).Rules() {
		a, err := txtar.ParseFile("testdata/" + r.Name + ".txtar")
		if err != nil {
			t.Errorf("rule %s has no cases: %v", r.Name, err)
			continue
		}
		for _, want := range []string{"fires", "holds", "cannot-tell", "ends"} {
			i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == want })
			if i < 0 || !strings.Contains(string(a.Files[i].Data), "want ") {
				t.Errorf("rule %s has no case %q that wants something", r.Name, want)
			}
		}
	}
}

func TestHealthyWorldHasNothingToSay(t *testing.T) {
	got := Assess(builtin(t), healthy(start()), fleet.Past{})
	if len(got.Findings)+len(got.Alerts)+len(got.Blind) != 0 {
		t.Errorf("a healthy world gave %+v", got)
	}
}

type story struct {
	t      *testing.T
	set    *rules.Set
	rule   string
	at     time.Duration
	snap   fleet.Snapshot
	past   fleet.Past
	patrol int64
	judged bool
	got    fleet.Assessment
	wishes []string
	wished bool
}

func (s *story) line(line string) {
	if line == "" || strings.HasPrefix(line, "#") {
		return
	}
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "at":
		s.begin(rest)
	case "clock":
		d := s.duration(strings.TrimPrefix(rest, "back "))
		s.past.Newest = s.snap.At.Add(d)
		s.past.Newest.Boot = "earlier" // within one boot no clock goes back
	case "set":
		kind, patch, _ := strings.Cut(rest, " ")
		s.patch(s.thing(kind), patch)
	case "gone":
		s.gone(rest)
	case "part":
		name, patch, _ := strings.Cut(rest, " ")
		s.patch(s.snap.Sight(fleet.PartName(name)), patch)
	case "want":
		s.want(rest)
	case "wish", "wish?", "no":
		s.judge()
		s.wished = true
		if word != "no" {
			s.wishes = append(s.wishes, line)
		}
	default:
		s.t.Fatalf("cannot read line %q", line)
	}
}

func (s *story) begin(rest string) {
	s.finishWishes()
	at, patrol, _ := strings.Cut(rest, " ")
	s.at = s.duration(at)
	s.snap = healthy(start().Add(s.at))
	if s.judged {
		s.past = after(s.past, s.got)
	}
	s.judged = false
	if patrol == "patrol" {
		s.patrol++
		s.snap.Patrol = s.patrol
	}
}

// after is what would be remembered of an assessment.
func after(past fleet.Past, got fleet.Assessment) fleet.Past {
	alerts := slices.Clone(got.Alerts)
	for _, old := range past.Alerts {
		if !slices.ContainsFunc(alerts, func(a fleet.Alert) bool { return a.AlertKey == old.AlertKey }) {
			alerts = append(alerts, old)
		}
	}
	past.Alerts = alerts
	for _, a := range alerts {
		past.NextAlert = max(past.NextAlert, a.Number+1)
	}
	return past
}

func (s *story) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *story) patch(to any, patch string) {
	if err := json.Unmarshal([]byte(patch), to); err != nil {
		s.t.Fatalf("cannot apply %s: %v", patch, err)
	}
}

func (s *story) thing(kind string) any {
	x := &s.snap
	switch kind {
	case "host":
		return &x.Host.Value
	case "mount":
		return &x.Host.Value.Mounts[0]
	case "agent":
		return &x.Agents.Value[0]
	case "agents":
		return &x.Agents.Value
	case "repo":
		return &x.Repos.Value.Repos[0]
	case "worktree":
		return &x.Repos.Value.Worktrees[0]
	case "lock":
		return &x.Locks.Value[0]
	case "phase":
		return &x.Phases.Value[0]
	case "log":
		return &x.Logs.Value[0]
	case "run":
		return &x.Runs.Value[0]
	case "self":
		return &x.Self.Value
	case "plugin":
		return &x.Self.Value.Plugins[0]
	case "receiver":
		return &x.Self.Value.Receivers[0]
	case "code":
		return &x.Self.Value.Code[0]
	case "landmark":
		return &x.Self.Value.Landmarks[0]
	case "session":
		return &x.Sessions.Value[0]
	}
	if thing := elsewhere(x, kind); thing != nil {
		return thing
	}
	s.t.Fatalf("there is no %q to set", kind)
	return nil
}

func (s *story) gone(kind string) {
	x := &s.snap
	switch kind {
	case "mount":
		x.Host.Value.Mounts = nil
	case "agent":
		x.Agents.Value = nil
	case "repo":
		x.Repos.Value.Repos = nil
	case "worktree":
		x.Repos.Value.Worktrees = nil
	case "lock":
		x.Locks.Value = nil
	case "phase":
		x.Phases.Value = nil
	case "log":
		x.Logs.Value = nil
	case "run":
		x.Runs.Value = nil
	case "plugin":
		x.Self.Value.Plugins = nil
	case "receiver":
		x.Self.Value.Receivers = nil
	case "code":
		x.Self.Value.Code = nil
	case "landmark":
		x.Self.Value.Landmarks = nil
	case "session":
		x.Sessions.Value = nil
	default:
		if !goneElsewhere(x, kind) {
			s.t.Fatalf("%q cannot be gone", kind)
		}
	}
}

func (s *story) judge() {
	if !s.judged {
		s.got, s.judged = Assess(s.set, s.snap, s.past), true
	}
}

func (s *story) want(what string) {
	s.t.Helper()
	s.judge()
	alert, finding, blind := s.alert(), s.finding(), s.blind()
	switch word, rest, _ := strings.Cut(what, " "); word {
	case "none", "pending", "firing", "resolved":
		status := "none"
		if alert != nil {
			status = string(alert.Status)
		}
		if status != word {
			s.t.Errorf("after %v: the alert is %s, want %s (blind: %+v)", s.at, status, word, s.got.Blind)
		}
		if finding != nil && finding.Firing != (word == "firing") || (word == "none" || word == "resolved") && finding != nil {
			s.t.Errorf("after %v: finding %+v does not fit %s", s.at, finding, word)
		}
	case "held":
		if alert == nil || alert.Blind == "" || alert.Status == fleet.AlertResolved || finding != nil {
			s.t.Errorf("after %v: alert %+v, finding %+v, want it held", s.at, alert, finding)
		}
	case "cannot-tell":
		if !blind || finding != nil {
			s.t.Errorf("after %v: blind %+v, finding %+v, want cannot tell", s.at, s.got.Blind, finding)
		}
	case "fresh", "stale":
		if finding == nil || finding.Fresh != (word == "fresh") {
			s.t.Errorf("after %v: finding %+v, want it %s", s.at, finding, word)
		}
	case "causes":
		s.wantCauses(finding, rest)
	case "summary":
		if finding == nil || !strings.Contains(finding.Summary, rest) {
			s.t.Errorf("after %v: finding %+v, want it to say %q", s.at, finding, rest)
		}
	default:
		s.t.Fatalf("cannot read want %q", what)
	}
}

func (s *story) wantCauses(f *fleet.Finding, want string) {
	var got []string
	if f != nil {
		for _, k := range f.CausedBy {
			got = append(got, k.Rule)
		}
	}
	if strings.Join(got, " ") != want {
		s.t.Errorf("after %v: caused by %v, want %s", s.at, got, want)
	}
}

func (s *story) alert() *fleet.Alert {
	for i := range s.got.Alerts {
		if s.got.Alerts[i].Rule == s.rule {
			return &s.got.Alerts[i]
		}
	}
	return nil
}

func (s *story) finding() *fleet.Finding {
	for i := range s.got.Findings {
		if s.got.Findings[i].Rule == s.rule {
			return &s.got.Findings[i]
		}
	}
	return nil
}

func (s *story) blind() bool {
	return slices.ContainsFunc(s.got.Blind, func(c fleet.CannotTell) bool { return c.Rule == s.rule })
}

// finishWishes compares the wishes of the step that ends.
func (s *story) finishWishes() {
	if !s.wished {
		return
	}
	got := []string{}
	if f := s.finding(); f != nil {
		for _, w := range f.Wishes {
			word := "wish"
			if w.Unknown != "" {
				word = "wish?"
			}
			got = append(got, fmt.Sprintf("%s %s %s", word, w.Do, w.Subject))
		}
	}
	if !slices.Equal(got, append([]string{}, s.wishes...)) {
		s.t.Errorf("after %v: wishes %q, want %q", s.at, got, s.wishes)
	}
	s.wishes, s.wished = nil, false
}
