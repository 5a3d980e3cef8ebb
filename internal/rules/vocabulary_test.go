package rules

import (
	"reflect"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// TestVocabularyIsWhole walks what fleet can say and fails for a field that is
// neither a word nor left out with a reason. A type that no structure is made of makes
// vocabulary panic.
func TestVocabularyIsWhole(t *testing.T) {
	for _, s := range vocabulary() {
		for _, f := range reflect.VisibleFields(s.of) {
			isWord := s.fields[jsonName(f)] != nil
			if leftOut := f.Tag.Get("unread") != ""; !f.Anonymous && isWord == leftOut {
				t.Errorf("%s.%s has neither a tag help nor a tag unread, or both", s.of.Name(), f.Name)
			}
		}
		for name, f := range s.fields {
			if f.doc == "" {
				t.Errorf("%s.%s has no doc", s.name, name)
			}
		}
	}
	checkSnapshot(t)
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func checkSnapshot(t *testing.T) {
	roots := map[string]bool{}
	for _, v := range always() {
		roots[string(v.part)] = true
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[fleet.Snapshot]()) {
		if roots[jsonName(f)] == (f.Tag.Get("unread") != "") {
			t.Errorf("part %s of the snapshot can neither be read by rules nor has it a tag unread, or both", jsonName(f))
		}
	}
}

// TestEveryWordReads evaluates every field of every structure once, known and
// unknown, so that a wrong accessor or type shows.
func TestEveryWordReads(t *testing.T) {
	for kind, value := range map[fleet.Kind]any{
		"host": &fleet.Host{}, "mount": &fleet.Mount{}, "session": &fleet.Pane{}, "agent": &fleet.Agent{}, "repo": &fleet.Repo{}, "worktree": &fleet.Worktree{},
		"lock": &fleet.Lock{}, "phase": &fleet.Phase{}, "log": &fleet.Log{}, "part": &Part{}, "self": &fleet.Self{}, "landmark": &fleet.Landmark{}, "extra": &fleet.Extra{}, "plugin": &fleet.PluginFacts{}, "code": &fleet.CodeFacts{}, "receiver": &fleet.Receiver{}, "run": &fleet.RunFacts{},
		"container": &fleet.Container{}, "project": &fleet.Project{}, "issue": &fleet.Issue{}, "pr": &fleet.PullRequest{}, "pipeline": &fleet.Pipeline{}, "worker": &fleet.Worker{},
		"work": &fleet.WorkFacts{}, "gate": &fleet.GateFacts{}, "convoy": &fleet.ConvoyFacts{}, "mail": &fleet.MailFacts{}, "vault": &fleet.VaultItem{},
	} {
		for _, s := range vocabulary() {
			if s.name != string(kind) {
				continue
			}
			for name := range s.fields {
				readWord(t, kind, value, name)
			}
		}
	}
}

func readWord(t *testing.T, kind fleet.Kind, value any, name string) {
	expr := string(kind) + "." + name
	set, err := Checker{}.Parse("test", []byte("[rule.x]\npriority='P4'\nover='"+string(kind)+"'\nexpr='"+expr+" == "+expr+"'"))
	if err != nil {
		t.Errorf("%s: %v", expr, err)
		return
	}
	var snap fleet.Snapshot
	for _, p := range fleet.PartNames() {
		snap.Sight(p).Status = fleet.StatusOK
	}
	v := NewView(&snap, false)
	v.Subject(kind, value)
	if truth, why := set.Rule("x").Test(v); truth != True && truth != Unknown {
		t.Errorf("%s == %s gives %d: %s", expr, expr, truth, why)
	}
}

// TestAccessorsReadTheirOwnField: each word reads the field that it is named after.
func TestAccessorsReadTheirOwnField(t *testing.T) {
	a := fleet.Agent{Name: "n", Kind: "k", Reason: "r", Source: "s", TTY: "t", SessionID: "i", RSS: fleet.Known(int64(7)), CPU: fleet.Known(3.0), Attached: 2}
	var words *structure
	for _, s := range vocabulary() {
		if s.name == "agent" {
			words = s
		}
	}
	for name, want := range map[string]any{"name": "n", "kind": "k", "reason": "r", "source": "s", "tty": "t", "session_id": "i", "rss": int64(7), "cpu": 3.0, "attached": int64(2)} {
		if got := words.fields[name].get(&a).Value(); got != want {
			t.Errorf("agent.%s = %v, want %v", name, got, want)
		}
	}
}
