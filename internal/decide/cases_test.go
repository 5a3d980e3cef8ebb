package decide

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"custos/internal/fleet"
)

var update = flag.Bool("update", false, "rewrite what the cases of testdata expect")

// TestCases plays testdata/*.txtar. Each file is about one guard; each pair of
// sections NAME.given and NAME.then is one case. Given starts from a world in
// which everything is allowed: see newWorld.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("cannot find cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { playFile(t, file) })
	}
}

// TestEveryGuardHasCases fails for a guard without a case that it refuses and
// one that it lets pass.
func TestEveryGuardHasCases(t *testing.T) {
	for _, g := range guards() {
		archive, err := txtar.ParseFile(filepath.Join("testdata", string(g.name)+".txtar"))
		if err != nil {
			t.Errorf("guard %s has no cases: %v", g.name, err)
			continue
		}
		refuses, passes := false, false
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".then") {
				refuses = refuses || strings.Contains(string(f.Data), "guard="+string(g.name)+" ")
				passes = passes || strings.HasPrefix(string(f.Data), "do ")
			}
		}
		if !refuses || !passes {
			t.Errorf("guard %s: refuses %v, passes %v: want a case of each", g.name, refuses, passes)
		}
	}
}

func playFile(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		given, then := &archive.Files[i], &archive.Files[i+1]
		name := strings.TrimSuffix(given.Name, ".given")
		if then.Name != name+".then" {
			t.Fatalf("%s: after %s comes %s", file, given.Name, then.Name)
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			for n, line := range strings.Split(strings.TrimSpace(string(given.Data)), "\n") {
				if err := w.read(line); err != nil {
					t.Fatalf("%s: %s: line %d: %v", file, given.Name, n+1, err)
				}
			}
			got := show(Decide(w.policy, w.snap, w.found, w.past))
			if *update {
				then.Data = []byte(got)
			} else if got != string(then.Data) {
				t.Errorf("got:\n%swant:\n%s", got, then.Data)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// world is a case being built.
type world struct {
	policy fleet.Policy
	snap   fleet.Snapshot
	found  fleet.Assessment
	past   fleet.Past
}

// at reads "10:00", "10:00:30", or "10:00/other" for another boot.
func at(s string) fleet.Instant {
	clock, boot, other := strings.Cut(s, "/")
	if !other {
		boot = "b1"
	}
	if strings.Count(clock, ":") == 1 {
		clock += ":00"
	}
	wall, err := time.Parse("2006-01-02 15:04:05", "2026-07-01 "+clock)
	if err != nil {
		panic(err)
	}
	return fleet.Instant{Wall: wall, Up: fleet.Duration(wall.Sub(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC))), Boot: boot}
}

// newWorld: 10:00, everything seen at 10:00, Custos up since 08:00, mode auto,
// no cap, four abilities.
func newWorld() *world {
	w := &world{
		policy: fleet.Policy{Mode: fleet.ModeAuto, Abilities: map[string]fleet.Ability{
			"stop-tree":       {Do: "stop-tree", Idempotent: true},
			"remove-lock":     {Do: "remove-lock", Idempotent: true},
			"remove-worktree": {Do: "remove-worktree", Idempotent: true},
			"rotate-log":      {Do: "rotate-log"},
			"start-agent":     {Do: "start-agent", Starts: true},
			"notify-terminal": {Do: "notify-terminal", Harmless: true},
			"spawn":           {Do: "spawn", Starts: true},
			"recover":         {Do: "recover", Starts: true},
			"nudge":           {Do: "nudge"},
			"answer":          {Do: "answer"},
			"interrupt":       {Do: "interrupt"},
			"stop":            {Do: "stop", Idempotent: true},
			"checkpoint":      {Do: "checkpoint", Idempotent: true, Gentle: true},
			"triage":          {Do: "triage"},
			"run-step":        {Do: "run-step", Idempotent: true},
			"end-step":        {Do: "end-step", Idempotent: true},
			"prepare-run":     {Do: "prepare-run", Idempotent: true},
			"file-reply":      {Do: "file-reply", Idempotent: true},
			"hold-lock":       {Do: "hold-lock", Idempotent: true},
			"release-lock":    {Do: "release-lock", Idempotent: true},
			"comment":         {Do: "comment"},
			"assign":          {Do: "assign", Idempotent: true},
			"label":           {Do: "label", Idempotent: true},
		}, Agents: fleet.DefaultAgentLimits(), Triage: fleet.DefaultTriagePolicy()},
		snap:  fleet.Snapshot{At: at("10:00")},
		found: fleet.Assessment{Rules: map[string]fleet.Remedy{}},
		past:  fleet.Past{StartedAt: at("08:00")},
	}
	for _, name := range fleet.PartNames() {
		*w.snap.Sight(name) = fleet.Sight{Status: fleet.StatusOK, At: at("10:00")}
	}
	w.snap.Host.Value.Memory.Available = fleet.Known(int64(8000 << 20))
	w.snap.Hub.Value.Host = "box1"
	return w
}

// read takes one line: a word, its arguments, and key=value settings, where
// double quotes keep blanks together.
func (w *world) read(line string) error {
	words, err := split(line)
	if err != nil || len(words) == 0 {
		return err
	}
	set := map[string]string{}
	var args []string
	for _, word := range words[1:] {
		if k, v, ok := strings.Cut(word, "="); ok && !strings.Contains(k, "/") {
			set[k] = v
		} else {
			args = append(args, word)
		}
	}
	switch words[0] {
	case "now":
		w.snap.At = at(args[0])
	case "policy":
		return w.readPolicy(set)
	case "ability":
		return w.readAbility(args[0], set)
	case "part":
		sight := w.snap.Sight(fleet.PartName(args[0]))
		*sight = fleet.Sight{Status: fleet.Status(set["status"]), Why: set["why"]}
		if set["at"] != "" {
			sight.At = at(set["at"])
		}
		if args[0] == string(fleet.PartHub) && sight.Status == fleet.StatusAbsent {
			w.snap.Hub.Value = fleet.Hub{}
		}
	case "rule":
		return w.readRule(args[0], set)
	case "limit":
		w.past.Quotas = append(w.past.Quotas, fleet.AccountQuota{Account: args[0], Quota: fleet.Quota{Window: fleet.WindowLimit, Percent: 100, Resets: at(set["until"]).Wall, At: at(set["told"]).Wall}})
		return nil
	case "past":
		return w.readPast(set)
	case "action":
		return w.readAction(args, set)
	case "finding":
		return w.readFinding(args, set)
	case "wish":
		return w.readWish(args, set)
	case "alert":
		return w.readAlert(args, set)
	case "worktree":
		w.snap.Repos.Value.Worktrees = append(w.snap.Repos.Value.Worktrees, worktreeOf(args[0], set))
	case "process":
		w.snap.Processes.Value = append(w.snap.Processes.Value, fleet.Process{ID: fleet.ProcessID{PID: integer(args[0]), Start: 1}, UID: integer(set["uid"])})
	case "agent":
		w.snap.Agents.Value = append(w.snap.Agents.Value, *agentOf(args[0], set))
	case "repo":
		w.snap.Repos.Value.Repos = append(w.snap.Repos.Value.Repos, fleet.Repo{Path: args[0]})
	case "work": // issue, pull, merged, bead or own NAME agent=NAME [closed=5m]
		w.readWork(args, set)
	case "reg":
		w.past.Registrations = append(w.past.Registrations, registration(args[0], set))
	case "verdict":
		w.past.Verdicts = append(w.past.Verdicts, verdict(args, set))
	case "run", "step", "run-fact", "fact":
		return w.readRun(words[0], args, set)
	case "order":
		if o := order(args, set); o.State == fleet.OrderAsked {
			w.past.Asked = append(w.past.Asked, o)
		} else {
			w.past.Orders = append(w.past.Orders, o)
		}
	case "paused": // a project
		w.past.Silences = append(w.past.Silences, fleet.PauseProject(args[0], "ann", "", at("09:00")))
	case "budget": // NAME scope=agent of=a window=day usd=10 … spent=12 [allowance=a] [unpriced=2] [stop=150] [until=12:00]
		w.readBudget(args[0], set)
	case "project": // on a forge: NAME URL
		w.snap.Forge.Value.Projects = append(w.snap.Forge.Value.Projects, fleet.Project{Name: args[0], URL: args[1]})
	case "lease": // KEY [mine=12s] [epoch=4] [holder=box2] [why=…]
		w.snap.Hub.Value.Leases = append(w.snap.Hub.Value.Leases, fleet.Lease{Key: args[0], Mine: set["mine"] != "", Left: duration(set["mine"]), Epoch: uint64(integer(set["epoch"])), Holder: set["holder"], Why: set["why"]})
	case "memory":
		w.snap.Host.Value.Memory.Available = fleet.Unknown[int64]("not looked at")
		if args[0] != "unknown" {
			w.snap.Host.Value.Memory.Available = fleet.Known(int64(integer(args[0])) << 20)
		}
	default:
		return fmt.Errorf("cannot read %q", words[0])
	}
	return nil
}

// readBudget adds a budget, and what was spent of one allowance of it.
func (w *world) readBudget(name string, set map[string]string) {
	b := fleet.Budget{Name: name, By: fleet.SpendBy(cmp.Or(set["scope"], "fleet")), Of: set["of"], Window: fleet.BudgetWindow(cmp.Or(set["window"], "day")),
		MicroUSD: int64(integer(set["usd"])) * 1e6, Tokens: int64(integer(set["tokens"])), Warn: 80, Hold: 100, Pause: 100, Stop: float64(integer(set["stop"]))}
	if set["only"] == "warn" {
		b.Hold, b.Pause = 0, 0
	}
	w.policy.Budgets = append(w.policy.Budgets, b)
	if set["spent"] == "" {
		return
	}
	s := fleet.Spending{Budget: name, Of: set["allowance"], MicroUSD: int64(integer(set["spent"])) * 1e6, Unpriced: int64(integer(set["unpriced"]))}
	s.Tokens.Output = int64(integer(set["used"]))
	if b.Window == fleet.WindowDay {
		s.Until = at(cmp.Or(set["until"], "23:59")).Wall
	}
	var raised []fleet.Raise
	if n := integer(set["raised"]); n > 0 {
		raised = []fleet.Raise{{Name: name, Metric: fleet.MetricUSD, Amount: float64(n) * 1e6, By: "ann", From: at("09:00"), Until: at("11:00")}}
	}
	w.snap.Spending.Value.Budgets = append(w.snap.Spending.Value.Budgets, b.Facts(s, raised, w.snap.At))
}

// readWork adds a piece of work of some tracker.
func (w *world) readWork(args []string, set map[string]string) {
	closed, forge := duration(set["closed"]), &w.snap.Forge.Value
	at, state := w.snap.At.Add(-time.Duration(closed)), fleet.WorkOpen
	if closed > 0 {
		state = fleet.WorkClosed
	}
	switch args[0] {
	case "issue":
		forge.Issues = append(forge.Issues, fleet.Issue{Name: args[1], Agent: set["agent"], Open: fleet.Known(closed == 0), Closed: fleet.Known(closed)})
	case "pull":
		forge.Pulls = append(forge.Pulls, fleet.PullRequest{Name: args[1], Agent: set["agent"]})
	case "merged", "rejected":
		forge.Ended = append(forge.Ended, fleet.EndedPull{Name: args[1], Agent: set["agent"], Merged: args[0] == "merged", Ended: fleet.Known(closed)})
	case "bead":
		w.snap.Beads.Value = append(w.snap.Beads.Value, fleet.Bead{ID: args[1], Assignee: set["agent"], State: state, Closed: fleet.Known(at)})
	case "own":
		w.past.Records.Work = append(w.past.Records.Work, fleet.WorkItem{Head: fleet.Head{ID: args[1]}, Agent: set["agent"], State: state, Since: at})
	}
}

func (w *world) readPolicy(set map[string]string) error {
	p := &w.policy
	for k, v := range set {
		switch k {
		case "mode":
			p.Mode = fleet.Mode(v)
		case "approved":
			p.ApprovedBy = v
		case "frozen":
			p.Frozen = v
		case "paused":
			p.Paused = []fleet.Subject{subject(v)}
		case "grace":
			p.Grace = duration(v)
		case "budget":
			p.Budget = attempts(v)
		case "blast":
			p.Blast = integer(v)
		case "agents":
			p.Agents.MaxAgents = integer(v)
		case "hold":
			p.Agents.Hold = duration(v)
		case "calls":
			p.Triage.PerHour = integer(v)
		case "calls-a-day":
			p.Triage.PerDay = integer(v)
		case "cents":
			p.Triage.MoneyPerDay = int64(integer(v)) * 10_000
		case "after-reboot":
			p.Agents.AfterReboot = fleet.Mode(strings.TrimPrefix(v, "unset"))
		default:
			return fmt.Errorf("cannot read policy %q", k)
		}
	}
	return nil
}

func (w *world) readAbility(do string, set map[string]string) error {
	if set["missing"] != "" {
		delete(w.policy.Abilities, do)
		return nil
	}
	a := w.policy.Abilities[do]
	a.Cannot, a.Needs = set["cannot"], set["needs"]
	a.Shared, a.Fenced = fleet.Shared(set["shared"]), set["fenced"] != ""
	w.policy.Abilities[do] = a
	return nil
}

func (w *world) readRule(name string, set map[string]string) error {
	r := fleet.Remedy{Mode: fleet.Mode(set["mode"]), Cooldown: duration(set["cooldown"]), Spacing: fleet.Spacing(set["spacing"])}
	if set["attempts"] != "" {
		r.Attempts = attempts(set["attempts"])
	}
	w.found.Rules[name] = r
	return nil
}

func (w *world) readPast(set map[string]string) error {
	for k, v := range set {
		switch k {
		case "started":
			w.past.StartedAt = at(v)
		case "newest":
			w.past.Newest = at(v)
		case "amnesia":
			w.past.Amnesia = true
		case "blind":
			w.past.Blind = v
		default:
			return fmt.Errorf("cannot read past %q", k)
		}
	}
	return nil
}

// readAction: action DO SUBJECT for=RULE/SUBJECT (open=HH:MM | ended=HH:MM status=…) id=…
func (w *world) readAction(args []string, set map[string]string) error {
	rule, about, _ := strings.Cut(set["for"], "/")
	r := fleet.ActionRecord{Stage: fleet.StageEnded, Action: fleet.Action{ID: set["id"], Do: args[0], Subject: subject(args[1])}}
	if rule != "" {
		r.For = fleet.AlertKey{Rule: rule, Subject: subject(about)}
	}
	r.Order = set["order"]
	r.Target = target(r.Subject, set)
	if r.Subject.Kind == fleet.KindRun {
		r.Target.Step = &fleet.StepTarget{Attempt: integer(set["attempt"])}
	}
	if set["registered"] != "" {
		reg := registration(r.Subject.Name, set)
		r.Target.Registration = &reg
	}
	if set["open"] != "" {
		r.Stage, r.PlannedAt = fleet.StageStarted, at(set["open"])
	} else {
		r.PlannedAt = at(set["ended"])
		r.Result = &fleet.Result{Status: fleet.ResultStatus(set["status"]), Why: set["why"], Ended: at(set["ended"])}
	}
	w.past.Actions = append(w.past.Actions, r)
	return nil
}

// readFinding: finding RULE SUBJECT [priority=] [pending=yes] [stale=yes] [parts=a,b] [cause=RULE/SUBJECT]
func (w *world) readFinding(args []string, set map[string]string) error {
	f := fleet.Finding{
		AlertKey: fleet.AlertKey{Rule: args[0], Subject: subject(args[1])},
		Priority: fleet.P2, Since: at("09:00"), Firing: set["pending"] == "", Fresh: set["stale"] == "",
		Summary: args[0] + " is true",
	}
	if set["priority"] != "" {
		f.Priority = fleet.Priority(set["priority"])
	}
	if set["since"] != "" {
		f.Since = at(set["since"])
	}
	if set["parts"] != "" {
		for _, p := range strings.Split(set["parts"], ",") {
			f.Parts = append(f.Parts, fleet.PartName(p))
		}
	}
	if set["cause"] != "" {
		rule, about, _ := strings.Cut(set["cause"], "/")
		f.CausedBy = []fleet.AlertKey{{Rule: rule, Subject: subject(about)}}
	}
	w.found.Findings = append(w.found.Findings, f)
	if _, ok := w.found.Rules[f.Rule]; !ok {
		w.found.Rules[f.Rule] = fleet.Remedy{Mode: fleet.ModeAuto}
	}
	return nil
}

// readWish: wish DO SUBJECT [owner=] [limit=] [unknown=] and what target takes.
func (w *world) readWish(args []string, set map[string]string) error {
	f := &w.found.Findings[len(w.found.Findings)-1]
	s := subject(args[1])
	f.Wishes = append(f.Wishes, fleet.Wish{Do: args[0], Subject: s, Target: target(s, set), Unknown: set["unknown"], Limit: integer(set["limit"])})
	return nil
}

func (w *world) readAlert(args []string, set map[string]string) error {
	a := fleet.Alert{AlertKey: fleet.AlertKey{Rule: args[0], Subject: subject(args[1])}, Number: int64(integer(set["number"])), Status: fleet.AlertFiring}
	if set["status"] != "" {
		a.Status = fleet.AlertStatus(set["status"])
	}
	if set["acked"] != "" {
		a.AckedAt = at(set["acked"])
	}
	if set["since"] != "" {
		a.Since = at(set["since"])
	}
	w.found.Alerts = append(w.found.Alerts, a)
	return nil
}

// target: [owner=] [pid=1] [procs=2,3] [cwd=/x] [occupied=1,2]; owner defaults to configured.
func target(s fleet.Subject, set map[string]string) fleet.Target {
	owner := fleet.Owner(set["owner"])
	if owner == "" {
		owner = fleet.OwnerConfigured
	}
	switch s.Kind {
	case fleet.KindAgent:
		a := agentOf(s.Name, set)
		a.Owner = owner
		return fleet.Target{Agent: a}
	case fleet.KindWorktree:
		return fleet.Target{Worktree: emptyTree(s.Name, owner, set)}
	case fleet.KindIssue:
		project, _, _ := strings.Cut(s.Name, "#")
		return fleet.Target{Issue: &fleet.Issue{Name: s.Name, Project: project, Owner: owner, Taken: fleet.Known(true), Agent: set["agent"]}}
	case fleet.KindPipeline:
		return fleet.Target{Pipeline: &fleet.Pipeline{Name: s.Name, Owner: owner, URL: set["url"]}}
	case fleet.KindRepo:
		return fleet.Target{Repo: &fleet.Repo{Path: s.Name, Owner: owner}}
	case fleet.KindLock:
		return fleet.Target{Lock: &fleet.Lock{Path: s.Name, Owner: owner}}
	case fleet.KindPhase:
		return fleet.Target{Phase: &fleet.Phase{Path: s.Name, Owner: owner}}
	case fleet.KindLog:
		return fleet.Target{Log: &fleet.Log{Path: s.Name, Owner: owner}}
	}
	return fleet.Target{}
}

// show writes a plan, one line an entry.
func show(p fleet.Plan) string {
	var b strings.Builder
	for _, a := range p.Actions {
		fmt.Fprintf(&b, "do %s %s for=%s attempt=%d", a.Do, a.Subject, a.For.Rule, a.Attempt)
		if a.Order != "" {
			fmt.Fprintf(&b, " order=%s by=%s", a.Order, a.By)
		}
		if a.Text != "" {
			fmt.Fprintf(&b, " text=%q", a.Text)
		}
		if a.Approved != "" {
			fmt.Fprintf(&b, " approved=%s", a.Approved)
		}
		if a.Fence != nil {
			fmt.Fprintf(&b, " fence=%s@%d", a.Fence.Key, a.Fence.Epoch)
		}
		b.WriteByte('\n')
	}
	for _, s := range p.Skipped {
		fmt.Fprintf(&b, "skip %s %s for=%s guard=%s why=%q", s.Do, s.Subject, s.For.Rule, s.Guard, s.Why)
		if !s.Until.IsZero() {
			fmt.Fprintf(&b, " until=%s", s.Until.Wall.UTC().Format("15:04:05"))
			if s.Until.Boot != "b1" {
				fmt.Fprintf(&b, "/%s", s.Until.Boot)
			}
		}
		if s.Hint != "" {
			fmt.Fprintf(&b, " hint=%q", s.Hint)
		}
		if len(s.Also) > 0 {
			fmt.Fprintf(&b, " also=%q", s.Also)
		}
		b.WriteByte('\n')
	}
	for _, k := range p.Leases {
		fmt.Fprintf(&b, "lease %s\n", k)
	}
	for _, k := range p.Idle {
		fmt.Fprintf(&b, "idle %s\n", k)
	}
	for _, o := range p.Orders {
		fmt.Fprintf(&b, "order %s %s %s%s %s", o.ID, o.Do, o.Agent, o.Account, o.State)
		if o.Guard != "" {
			fmt.Fprintf(&b, " guard=%s", o.Guard)
		}
		if o.Why != "" {
			fmt.Fprintf(&b, " why=%q", o.Why)
		}
		if !o.Until.IsZero() {
			fmt.Fprintf(&b, " until=%s", o.Until.Wall.UTC().Format("15:04:05"))
		}
		if o.Hint != "" {
			fmt.Fprintf(&b, " hint=%q", o.Hint)
		}
		b.WriteByte('\n')
	}
	for _, f := range p.Failed {
		fmt.Fprintf(&b, "failed %s why=%q until=%s\n", f.Agent, f.Why, f.Until.Wall.UTC().Format("15:04:05"))
	}
	return b.String()
}

func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted := false
	for _, r := range line + " " {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ' ' && !quoted:
			if word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
		default:
			word.WriteRune(r)
		}
	}
	if quoted {
		return nil, fmt.Errorf("cannot find the closing quote in %q", line)
	}
	return words, nil
}

func subject(s string) fleet.Subject {
	got, ok := fleet.ParseSubject(s)
	if !ok {
		panic("not a subject: " + s)
	}
	return got
}

func integers(s string) []int {
	var list []int
	for _, part := range strings.Split(s, ",") {
		if part != "" {
			list = append(list, integer(part))
		}
	}
	return list
}

func integer(s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func duration(s string) fleet.Duration {
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return fleet.Duration(d)
}

// attempts reads "3/1h".
func attempts(s string) fleet.Attempts {
	n, in, _ := strings.Cut(s, "/")
	return fleet.Attempts{Max: integer(n), In: duration(in)}
}

func TestGuardsAreAskedInTheOrderOfFleet(t *testing.T) {
	want := []fleet.Guard{fleet.GuardInFlight, fleet.GuardFrozen, fleet.GuardMode, fleet.GuardForeign, fleet.GuardPaused,
		fleet.GuardPerson, fleet.GuardEvidence, fleet.GuardAlive, fleet.GuardState, fleet.GuardGrace, fleet.GuardCause, fleet.GuardCannot,
		fleet.GuardCooldown, fleet.GuardAttempts, fleet.GuardVerdict, fleet.GuardGate, fleet.GuardSpend, fleet.GuardBudget, fleet.GuardLease, fleet.GuardBlast, fleet.GuardApproval, fleet.GuardLimit}
	var got []fleet.Guard
	for _, g := range guards() {
		got = append(got, g.name)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestDocumentation fails for a guard that docs/guards.md leaves out, has in
// another place, or quotes with words that no case gives.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/guards.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range guards() {
		section, ok := between(string(text), fmt.Sprintf("\n## %d. %s\n", i+1, g.name), "\n## ")
		if !ok {
			t.Errorf("docs/guards.md has no section %d about %s", i+1, g.name)
			continue
		}
		cases, err := os.ReadFile(filepath.Join("testdata", string(g.name)+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		quotes := 0
		for _, line := range strings.Split(section, "\n") {
			quote, is := strings.CutPrefix(line, "> ")
			if !is {
				continue
			}
			if quotes++; !strings.Contains(string(cases), fmt.Sprintf("guard=%s why=%q", g.name, quote)) {
				t.Errorf("docs/guards.md quotes %q, which no case of %s says", quote, g.name)
			}
		}
		if quotes == 0 {
			t.Errorf("docs/guards.md quotes nothing that %s says", g.name)
		}
	}
}

// between returns the text after start and before the next end.
func between(text, start, end string) (string, bool) {
	_, rest, ok := strings.Cut(text, start)
	section, _, _ := strings.Cut(rest, end)
	return section, ok
}
