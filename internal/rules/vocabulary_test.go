package rules

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// left lists the fields of fleet that rules cannot read, and why.
func left() map[string]string {
	return map[string]string{
		"Snapshot.processes":    "rules speak of agents and what they stand on; a process that is no agent is nobody's business",
		"Snapshot.from":         "where Custos looks from is no property of what it sees",
		"Snapshot.patrol":       "for_patrols counts patrols",
		"Snapshot.at":           "it is the variable now",
		"Snapshot.beads":        "rules speak of work, whichever tracker keeps it",
		"Snapshot.checks":       "rules speak of gates",
		"Snapshot.holds":        "rules speak of gates",
		"Self.receivers":        "over = \"receiver\" ranges over them",
		"Agent.origin":          "what of it counts is in the registration that is made of it",
		"Agent.rate_limited_at": "a limit that a person lifted is told from a new one by it; rules have until when it lasts",
		"Self.plugins":          "over = \"plugin\" ranges over them",
		"Snapshot.extra":        "over = \"extra\" ranges over it; a list of them would need its names to be known",
	}
}

// TestVocabularyIsWhole walks what fleet can say and fails for a field that is
// neither in the vocabulary nor left out with a reason.
func TestVocabularyIsWhole(t *testing.T) {
	words := map[string]*structure{}
	for _, s := range vocabulary() {
		words[s.name] = s
		for _, f := range s.fields {
			if f.doc == "" {
				t.Errorf("%s.%s has no doc", s.name, f.name)
			}
		}
	}
	for name, typ := range map[string]reflect.Type{
		"host": reflect.TypeFor[fleet.Host](), "memory": reflect.TypeFor[fleet.Memory](), "swap": reflect.TypeFor[fleet.Swap](),
		"load": reflect.TypeFor[fleet.Load](), "pressure": reflect.TypeFor[fleet.Pressure](), "mount": reflect.TypeFor[fleet.Mount](),
		"agent": reflect.TypeFor[fleet.Agent](), "signal": reflect.TypeFor[fleet.Signal](), "session": reflect.TypeFor[fleet.Pane](),
		"pane_id": reflect.TypeFor[fleet.PaneID](), "process": reflect.TypeFor[fleet.ProcessID](), "repo": reflect.TypeFor[fleet.Repo](),
		"worktree": reflect.TypeFor[fleet.Worktree](), "bulk": reflect.TypeFor[fleet.Bulk](), "lock": reflect.TypeFor[fleet.Lock](),
		"phase": reflect.TypeFor[fleet.Phase](), "log": reflect.TypeFor[fleet.Log](), "file": reflect.TypeFor[fleet.FileID](),
		"tool": reflect.TypeFor[fleet.ToolCall](), "dialog": reflect.TypeFor[fleet.Dialog](), "choice": reflect.TypeFor[fleet.Choice](), "exit": reflect.TypeFor[fleet.Exit](),
		"self": reflect.TypeFor[fleet.Self](), "landmark": reflect.TypeFor[fleet.Landmark](), "part": reflect.TypeFor[fleet.Sight](), "extra": reflect.TypeFor[fleet.Extra](), "plugin": reflect.TypeFor[fleet.PluginFacts](), "code": reflect.TypeFor[fleet.CodeFacts](), "receiver": reflect.TypeFor[fleet.Receiver](),
		"run": reflect.TypeFor[fleet.RunFacts](), "phrase": reflect.TypeFor[fleet.Phrase](), "step": reflect.TypeFor[fleet.StepFacts](),
		"engine": reflect.TypeFor[fleet.Engine](), "container": reflect.TypeFor[fleet.Container](), "project": reflect.TypeFor[fleet.Project](),
		"issue": reflect.TypeFor[fleet.Issue](), "pr": reflect.TypeFor[fleet.PullRequest](), "pipeline": reflect.TypeFor[fleet.Pipeline](), "worker": reflect.TypeFor[fleet.Worker](),
		"work": reflect.TypeFor[fleet.WorkFacts](), "gate": reflect.TypeFor[fleet.GateFacts](), "convoy": reflect.TypeFor[fleet.ConvoyFacts](), "mail": reflect.TypeFor[fleet.MailFacts](),
	} {
		s := words[name]
		fields := slices.DeleteFunc(reflect.VisibleFields(typ), func(f reflect.StructField) bool { return f.Anonymous })
		for _, field := range fields {
			f, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if s.fields[f] == nil && left()[typ.Name()+"."+f] == "" {
				t.Errorf("%s.%s (JSON %q) is neither in the vocabulary nor left out with a reason", typ.Name(), field.Name, f)
			}
		}
		derived := map[string]int{"exit": 1}[name] // ender is what several fields come to
		if name != "part" && len(s.fields) > len(fields)+derived {
			t.Errorf("%s has words that are no field of %s", name, typ)
		}
		delete(words, name)
	}
	for name := range words {
		t.Errorf("the words of %s belong to no type of fleet", name)
	}
	checkSnapshot(t)
}

func checkSnapshot(t *testing.T) {
	roots := map[string]bool{"host": true, "self": true, "sessions": true, "agents": true, "repos": true, "locks": true, "phases": true, "logs": true, "runs": true,
		"containers": true, "forge": true, "ci": true, "coordination": true}
	typ := reflect.TypeFor[fleet.Snapshot]()
	for i := range typ.NumField() {
		f, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if !roots[f] && left()["Snapshot."+f] == "" {
			t.Errorf("part %s of the snapshot cannot be read by rules", f)
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
		"work": &fleet.WorkFacts{}, "gate": &fleet.GateFacts{}, "convoy": &fleet.ConvoyFacts{}, "mail": &fleet.MailFacts{},
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

// TestAccessorsReadTheirOwnField fills each struct by reflection with values
// that differ and compares what the accessor reads with the field's JSON.
func TestAccessorsReadTheirOwnField(t *testing.T) {
	a := fleet.Agent{Name: "n", Kind: "k", Reason: "r", Source: "s", TTY: "t", SessionID: "i", RSS: fleet.Known(int64(7)), CPU: fleet.Known(3.0), Attached: 2}
	words := agentWords()
	for name, want := range map[string]any{"name": "n", "kind": "k", "reason": "r", "source": "s", "tty": "t", "session_id": "i", "rss": int64(7), "cpu": 3.0, "attached": int64(2)} {
		if got := words.fields[name].get(&a).Value(); got != want {
			t.Errorf("agent.%s = %v, want %v", name, got, want)
		}
	}
}
