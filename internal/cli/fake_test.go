package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"custos/internal/api"
	"custos/internal/cli"
	"custos/internal/config"
	"custos/internal/control"
	"custos/internal/daemon"
	"custos/internal/doctor"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/server"
	"custos/internal/sys/files"
	"custos/internal/uninstall"
	"custos/internal/view"
)

// world is a Custos without a machine: one pass from a file, everything else in
// memory or in small files below the state folder.
type world struct {
	pass    fleet.Pass
	state   string
	home    string
	taken   map[string]fleet.Order
	asked   int
	never   bool               // no patrol yet: $NEVER
	ended   fleet.ResultStatus // of every action: $OUTCOME
	hangs   bool               // a patrol goes on until it is interrupted: $HANGS
	full    bool               // nothing can be written: $FULL
	hears   []string           // who is told: $TOLD
	folders []string           // of accounts of claude: $LOGINS
	// caller is the agent that runs the command; "" for a person: $AGENT
	caller string
}

// fake is a Daemon that serves the pass in the file $PASS (a txtar whose first
// file is one), or fails to look when there is none.
func fake(getenv func(string) string) cli.Daemon {
	frozen := func(c config.Config) string { return filepath.Join(c.StateDir, "frozen") }
	options := func(c config.Config) (server.Options, error) {
		w := &world{state: c.StateDir, home: getenv("HOME"), taken: map[string]fleet.Order{},
			never: getenv("NEVER") != "", ended: fleet.ResultStatus(getenv("OUTCOME")), hangs: getenv("HANGS") != "", full: getenv("FULL") != "", caller: getenv("AGENT"), hears: strings.Fields(getenv("TOLD")), folders: strings.Fields(getenv("LOGINS"))}
		var err error
		if file := getenv("PASS"); file != "" {
			w.pass, err = passOf(file)
		}
		if strings.Contains(string(c.Text), "[rule.broken]") {
			err = &config.Mistake{Err: errors.New("cannot read custos.toml:1: rule broken")}
		}
		return w.options(), err
	}
	return cli.Daemon{
		Policies: daemon.Policies, PolicyPlaces: daemon.PolicyPlaces,
		Person: func(config.Config, string) error {
			if agent := getenv("AGENT"); agent != "" {
				return &api.Error{Kind: api.Forbidden, Message: "agent " + agent + " may not"}
			}
			return nil
		},
		Simulate: func(ctx context.Context, c config.Config, name string, text []byte) (api.Simulation, error) {
			return daemon.Simulate(ctx, c, daemon.Options{Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, name, text)
		},
		Local: func(_ context.Context, c config.Config) (http.Handler, func() error, error) {
			o, err := options(c)
			o.InProcess, o.Control.Watched = true, false
			return server.New(o), func() error { return nil }, err
		},
		Up: func(ctx context.Context, c config.Config, _ bool) error {
			o, err := options(c)
			if err != nil {
				return err
			}
			ctx, o.Down = context.WithCancel(ctx)
			l, err := server.Listen(c.RuntimeDir + "/s")
			if err != nil {
				return err
			}
			return server.Serve(ctx, l, server.New(o))
		},
		Socket: func(c config.Config) string { return c.RuntimeDir + "/s" },
		Runs:   func(config.Config) bool { return false },
		Freeze: func(c config.Config, by, why string) error {
			if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
				return err
			}
			return os.WriteFile(frozen(c), []byte(by+": "+why), 0o600)
		},
		Thaw: func(c config.Config) (string, error) {
			b, err := os.ReadFile(frozen(c))
			if errors.Is(err, fs.ErrNotExist) {
				return "", nil
			}
			return string(b), errors.Join(err, os.Remove(frozen(c)))
		},
		Frozen: func(c config.Config) string {
			b, _ := os.ReadFile(frozen(c))
			return string(b)
		},
		Alive: func(c config.Config) ([]uninstall.Living, error) {
			name, err := os.ReadFile(filepath.Join(getenv("HOME"), "living"))
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			return []uninstall.Living{{Name: strings.TrimSpace(string(name)), PID: 4242}}, err
		},
		RunsOn: func(c config.Config) ([]string, error) {
			text, err := os.ReadFile(filepath.Join(getenv("HOME"), "runs-on"))
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil, nil
			case err != nil:
				return nil, err
			case len(text) == 0:
				return nil, errors.New("/proc is not there")
			}
			return []string{strings.TrimSpace(string(text))}, nil
		},
		Going: func(c config.Config, leave bool) (uninstall.Removal, error) {
			return going(c), nil
		},
		Uninstall: func(c config.Config, leave bool) (uninstall.Removal, error) {
			r := going(c)
			for _, path := range r.Gone {
				if err := os.RemoveAll(path); err != nil {
					return r, err
				}
			}
			return r, nil
		},
	}
}

// going is the freeze file and its folder, and only the file where something else is there.
func going(c config.Config) uninstall.Removal {
	names, err := os.ReadDir(c.StateDir)
	if err != nil {
		return uninstall.Removal{}
	}
	left := files.Left{Folder: c.StateDir}
	for _, n := range names {
		if n.Name() != "frozen" {
			left.Names = append(left.Names, n.Name())
		}
	}
	if left.Names == nil {
		return uninstall.Removal{Gone: []string{c.StateDir}}
	}
	return uninstall.Removal{Gone: []string{filepath.Join(c.StateDir, "frozen")}, Left: []files.Left{left}}
}

func passOf(file string) (fleet.Pass, error) {
	var p fleet.Pass
	ar, err := txtar.ParseFile(file)
	if err != nil {
		return p, err
	}
	text := ar.Comment // a script cannot hold a txtar, only its JSON
	if len(ar.Files) > 0 {
		text = ar.Files[0].Data
	}
	for _, name := range fleet.PartNames() {
		p.Snapshot.Sight(name).Status = fleet.StatusOK
	}
	for _, name := range []fleet.PartName{fleet.PartEngine, fleet.PartForge, fleet.PartCI, fleet.PartBeads, fleet.PartVaults, fleet.PartChecks} { // not configured
		p.Snapshot.Sight(name).Status = fleet.StatusAbsent
	}
	return p, json.NewDecoder(bytes.NewReader(text)).Decode(&p)
}

func (w *world) control() *control.Control {
	b, p := &book{w: w}, &pluginBook{book{w: w}}
	return &control.Control{Tell: func(context.Context, fleet.Message) error { return nil }, Receivers: func(fleet.Message) []string { return w.hears }, Posts: posts{}, Events: w.Events, History: w, Screens: w, Teller: w, Journal: w.Journal, Costs: w.costs, UsageFaults: w.usageFaults, MoreMayBe: func(context.Context) (string, string) { return "", "" }, Prices: w.prices, Priced: func(model string) bool { return model == "" }, Vitals: w.vitals, Status: w.status, Orders: w, Turned: w.Turned, Agents: w, Alerts: w, Approver: w, Look: w.Look, Formulas: b, Runs: b, Plugins: p, Pauses: w, Merges: oneQueue{}, Roles: []fleet.Role{{Name: "builder", Kind: "claude", Repo: "/src/shop", Project: "shop", Prompt: "Do {{work}}: {{title}}"}}, RoleBook: roleBook{}, Budgets: noBudgets{}, Code: p, Schedules: w.schedules, Watched: true, Records: ledgerBook{w}, Asker: w, Registry: w.Registrations, Rules: w, Mender: w, Version: "1.2.3", Examine: func(context.Context, func(string) bool) (i doctor.Installation) { return i }, Anew: func(context.Context) {}, Now: func() fleet.Instant { return w.pass.Snapshot.At }}
}

func (w *world) options() server.Options {
	return server.Options{
		Cycle: w, Explainer: w, HookFiles: w, Control: w.control(), AgentOf: w.agentOf, Now: func() fleet.Instant { return w.pass.Snapshot.At },
	}
}

func (w *world) Deny(_ context.Context, of fleet.AlertKey, _ string, consent func(denied, instead []fleet.Action) ([]fleet.Message, error)) error {
	actions, _, _ := w.Offer(context.Background(), of, "")
	instead := []fleet.Action{{ID: "a2", Do: "keep-lock", Subject: of.Subject}}
	_, err := consent(actions, instead)
	return err
}

func (w *world) Approve(_ context.Context, of fleet.AlertKey, _ string, consent func([]fleet.Action) ([]fleet.Message, error)) error {
	actions, _, _ := w.Offer(context.Background(), of, "")
	_, err := consent(actions)
	return err
}

func (w *world) Offer(_ context.Context, of fleet.AlertKey, _ string) ([]fleet.Action, string, error) {
	return []fleet.Action{{ID: "a1", Do: "remove-lock", Subject: of.Subject}}, "", nil
}

// Ask begins nothing.
func (w *world) Ask(ctx context.Context, _ string, what func(fleet.Past, fleet.Snapshot) (*fleet.Finding, error), _ ...fleet.PartName) (*fleet.Action, error) {
	past, err := ledgerBook{w}.past(ctx)
	if err != nil {
		return nil, err
	}
	f, err := what(past, w.pass.Snapshot)
	if err != nil || f == nil {
		return nil, err
	}
	return &fleet.Action{ID: "a1", Do: f.Wishes[0].Do, Subject: f.Subject}, nil
}

func (w *world) status(context.Context) api.Status {
	at := w.pass.Snapshot.At.Wall.UTC()
	if w.never {
		return api.Status{Version: "1.2.3", Mode: "observe", State: w.state, Notes: []string{}}
	}
	return api.Status{Version: "1.2.3", Mode: "observe", LastPatrol: &at, Patrols: 7, Firing: map[string]int{"P1": 1, "P2": 3}, State: w.state, Notes: []string{}}
}

// roleBook has a policy for builders.
type roleBook struct{}

func (roleBook) Policy(role string) (name, key string) {
	if role == "builder" {
		return "read-only", "role.builder.policy"
	}
	return "", ""
}

func (roleBook) Line(role, key string) string {
	return map[string]string{"kind": "custos.toml:2", "repo": "custos.toml:3", "project": "custos.toml:4"}[key]
}
func (roleBook) Context(_ fleet.Role, prompt string) (string, []string, string, error) {
	return "", nil, prompt, nil
}
func (roleBook) Unread(fleet.Role) string { return "" }
func (roleBook) Untold(fleet.Role) string { return "" }
func (roleBook) Gone(fleet.Role) string   { return "" }

// noBudgets is of a fleet that may spend what it likes.
type noBudgets struct{}

func (noBudgets) Limits() []fleet.Budget                                    { return nil }
func (noBudgets) Raise(context.Context, []fleet.Silence, fleet.Event) error { return nil }

// Pause knows the project shop.
func (w *world) Pause(_ context.Context, project string, _ bool, _, _ string) error {
	if project != "shop" {
		return fmt.Errorf("cannot pause: %w: no project %q is known", ledger.ErrIllegal, project)
	}
	return nil
}

func (w *world) agentOf(context.Context, server.Caller) (string, error) { return w.caller, nil }

// Change knows nobody.
func (w *world) Change(context.Context, string, func(fleet.Registration) (fleet.Registration, error)) (fleet.Registration, error) {
	return fleet.Registration{}, fs.ErrNotExist
}
func (w *world) Replaced(fleet.Registration) bool { return false }

func (w *world) Beat(context.Context, string) (fleet.Instant, error) { return w.pass.Snapshot.At, nil }

func (w *world) vitals(context.Context) view.Vitals {
	if w.never {
		return view.Vitals{}
	}
	return view.Vitals{Patrolled: w.pass.Snapshot.At.Add(-10 * time.Minute)}
}

func (w *world) Look(context.Context, time.Duration) (fleet.Pass, error) {
	if w.pass.Snapshot.At.IsZero() {
		return w.pass, errors.New("cannot look: there is no world")
	}
	return w.pass, nil
}

func (w *world) Patrol(ctx context.Context, o fleet.PatrolOrder) (fleet.Pass, error) {
	p, err := w.Look(ctx, time.Minute)
	p.Number = 8
	if w.hangs {
		<-ctx.Done()
		return p, ctx.Err()
	}
	if w.full && err == nil {
		p.Results, err = nil, errors.New("cannot open database: the disk is full")
	}
	for i := range p.Results {
		if w.ended != "" {
			p.Results[i].Status = w.ended
		}
	}
	if !o.Apply {
		p.Results = nil
	}
	return p, err
}

func (w *world) Judge(_ context.Context, r fleet.Recording) (fleet.Pass, error) {
	p := w.pass
	p.Snapshot = r.Snapshot
	return p, nil
}

func (w *world) Alerts(_ context.Context, all bool) ([]fleet.Alert, error) {
	var out []fleet.Alert
	if w.never {
		return nil, nil
	}
	for _, a := range w.pass.Assessment.Alerts {
		if all || a.Status != fleet.AlertResolved {
			out = append(out, a)
		}
	}
	return out, nil
}

func (w *world) Acknowledge(_ context.Context, n int64, by string) (fleet.Alert, error) {
	for _, a := range w.pass.Assessment.Alerts {
		if a.Number == n {
			a.AckedBy = by
			return a, nil
		}
	}
	return fleet.Alert{}, errors.New("no such alert")
}

func (w *world) Silence(context.Context, fleet.Silence) error { return nil }

func (w *world) Events(_ context.Context, f control.EventFilter) ([]fleet.Event, error) {
	return []fleet.Event{{ID: 1, At: w.pass.Snapshot.At, Kind: "alert.firing", Text: "it began \x1b[31mred\x1b[0m"}}, nil
}

func (w *world) Journal(_ context.Context, day string) (api.Journal, error) {
	if w.never {
		return api.Journal{}, fmt.Errorf("cannot read the journal: %w", fs.ErrNotExist)
	}
	if day != "" && day != "2026-11-20" {
		return api.Journal{}, fmt.Errorf("cannot read the journal of %s: %w", day, fs.ErrNotExist)
	}
	return api.Journal{Day: "2026-11-20", Text: "## Custos patrol — 09:00 UTC\n\n- RAM: 2.0 GiB\x1b]0;evil\x07"}, nil
}

func (w *world) Commands(a fleet.Action) []fleet.Command {
	return []fleet.Command{{Argv: []string{"mv", a.Subject.Name, "it's away"}, Note: "renamed, never deleted"}}
}

func (w *world) Rules() []api.Rule {
	return []api.Rule{
		{Name: "disk-pressure", Priority: "P1", Over: "mount", Expr: "mount.used_percent > 80.0", Actions: []string{"rotate-log"}, Mode: "auto", Category: "disk", Enabled: true, CausedBy: []string{}, Runbook: "custos runbook disk"},
		{Name: "lock-dead", Priority: "P2", Over: "lock", Expr: "lock.holder == 'dead'", Actions: []string{"remove-lock"}, Mode: "auto", Category: "locks", Enabled: true, CausedBy: []string{}},
		{Name: "lock-old", Priority: "P4", Over: "lock", Expr: "lock.age > duration('1h')", Actions: []string{}, Mode: "auto", CausedBy: []string{}},
	}
}

func (w *world) TOML() string { return "[rule.disk-pressure]\npriority = \"P1\"\n" }

func (w *world) Kinds() api.Kinds {
	return api.Kinds{Kinds: []api.Kind{{Name: "claude", Path: "/bin/claude", Version: "2.1.400", Outgrown: "2.1.330", Proven: []string{"2.1.197", "2.1.330"}, Never: []string{"a permission request, by its title"}}, {Name: "mine", From: []string{w.home + "/kinds/mine.toml"}, Disabled: true}}, Aside: []string{}}
}
func (w *world) Explain(kind, title, screen string) (api.Explanation, error) {
	if kind == "nobody" {
		return api.Explanation{}, errors.New(`cannot explain: there is no kind "nobody"`)
	}
	return api.Explanation{Kind: "claude", State: "working", Reason: "it spins", Source: "screen",
		Signals:  []api.Signal{{Kind: "claude", Source: "screen", Says: strings.TrimSpace(screen), Hint: "working"}},
		Warnings: []string{"A screen proves nothing by itself."}}, nil
}

// Mending has every action of the pass for an alert that is asked for.
func (w *world) Mending(p fleet.Pass, of []fleet.AlertKey) fleet.Plan {
	out := fleet.Plan{At: p.Snapshot.At}
	for _, a := range p.Plan.Actions {
		if slices.Contains(of, a.For) {
			out.Actions = append(out.Actions, a)
		}
	}
	return out
}

func (w *world) Mend(ctx context.Context, _ string, of []fleet.AlertKey, meant func(fleet.Action) bool) (out fleet.Pass, err error) {
	out.Plan = w.Mending(w.pass, of)
	for _, a := range out.Plan.Actions {
		if meant(a) {
			status := fleet.ResultDone
			if w.ended != "" {
				status = w.ended
			}
			out.Results = append(out.Results, fleet.Result{ActionID: a.ID, Do: a.Do, Subject: a.Subject, For: a.For, Status: status, Effect: "renamed"})
		}
	}
	return out, nil
}

// posts are receivers of a test: ann takes what she is sent, bob does not.
type posts struct{ control.Posts }

func (posts) Standing() []fleet.Receiver {
	return []fleet.Receiver{{Name: "ann"}, {Name: "bob", Tries: 3, Why: "its token cannot be read"}}
}
