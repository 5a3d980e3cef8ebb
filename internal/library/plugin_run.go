package library

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/formula"
	"custos/internal/ledger"
	"custos/internal/nearest"
	"custos/internal/plugin"
)

// pluginStep is the one step of a plugin's run.
const pluginStep = "run"

// Of a plugin's agent, as of formulas that do not say.
const (
	pluginMemory  = 2000 // MB that must be free to launch a model
	pluginSession = 2 * time.Hour
)

// scheduleOf is when a plugin is run, and the run that it begins then. Its condition was
// checked.
func (s *Plugins) scheduleOf(ctx context.Context, x Plugin, text []byte) Schedule {
	g := x.Gate
	out := fleet.Schedule{Name: fleet.PluginFormula(x.Name), Enabled: !x.Disabled, Run: s.template(ctx, x), Ran: ranElsewhere(x.root.dir, x.home, x.Name)}
	sum := sha256.Sum256(text)
	out.Run.Digest = hex.EncodeToString(sum[:8])
	switch g.Type {
	case plugin.Cooldown:
		out.Rest = fleet.Duration(g.Duration)
	case plugin.Cron:
		out.Cron, out.Zone, out.Hosts = g.Schedule, g.Zone, fleet.Hosts(g.Hosts)
	case plugin.Condition:
		out.When, out.Check, out.Rest = g.When, x.absolute(g.Check), fleet.Duration(cmp.Or(g.Duration, s.repeat))
	case plugin.Event:
		out.On, out.Mark = eventOf(g.On), true
	}
	timed, _ := compiled(out)
	return timed
}

// template is the run of a plugin: a formula of one step.
func (s *Plugins) template(ctx context.Context, x Plugin) fleet.Run {
	step := formula.Step{ID: pluginStep, Title: x.Description, Timeout: x.Timeout, Env: x.Env, Dir: fleet.Path(x.Dir)}
	f := formula.Formula{Name: fleet.PluginFormula(x.Name), File: x.File, Description: x.Description, Mode: formula.Steps, Parallel: 1}
	f.Values = map[string]string{"plugin": x.Name, "plugin_dir": x.Dir}
	work := x.root.work
	if work != "" {
		f.Values["project_dir"] = work
	}
	if x.How == plugin.ByAgent {
		f.Mode, f.MemoryGuard, f.SessionTime, step.Description = formula.Session, pluginMemory, pluginSession, x.Body
		if x.Timeout > 0 {
			f.SessionTime = x.Timeout
		}
		if work == "" {
			work, _ = os.UserHomeDir() // checked before anything is begun there
		}
	} else {
		step.Run = &formula.Run{Argv: x.Command()}
	}
	f.Steps = []formula.Step{step}
	run := s.formulas.Template(ctx, Reading{Formula: f, Project: x.root.project, Dir: x.root.work}, work)
	run.Steps[0].Moot = true
	if run.Session != nil {
		run.Session.Graph = x.root.work != ""
	}
	if !x.Parallel {
		run.Queue = fleet.QueuePlugins
	}
	return run
}

// Command is what is run.
func (x Plugin) Command() []string {
	if len(x.Run) > 0 {
		return x.absolute(x.Run)
	}
	return []string{filepath.Join(x.Dir, plugin.Script)}
}

// absolute makes a program that is meant from the plugin's folder be found.
func (x Plugin) absolute(argv []string) []string {
	if len(argv) == 0 || filepath.IsAbs(argv[0]) || !strings.ContainsRune(argv[0], '/') {
		return argv
	}
	return append([]string{filepath.Join(x.Dir, argv[0])}, argv[1:]...)
}

// events are those that have one word: what begins, and kinds of the log.
func events() []string {
	return []string{"startup", "heartbeat", "patrol", "ack", "silence", "freeze", "thaw", "verdict", "told", "reply"}
}

// families are the first words of the other kinds of the log. What comes after is
// not known beforehand: types of mail, states of records.
func families() []string {
	return []string{"agent", "alert", "amnesia", "ask", "convoy", "dependency", "gate", "mail", "run", "action", "order", "trigger", "work"}
}

// eventOf is an event of a plugin as schedules call it.
func eventOf(on string) string {
	switch {
	case on == "heartbeat":
		return "patrol"
	case on == "convoy.created": // Gas Town's word
		return "log:convoy.open"
	case on == "startup", on == "patrol", strings.ContainsRune(on, ':'):
		return on
	}
	return "log:" + on
}

// checkEvent refuses an event that there is not.
func checkEvent(on, name string) error {
	first, _, kind := strings.Cut(on, ".")
	switch named := strings.ContainsRune(on, ':'); {
	case named:
	case kind && !slices.Contains(families(), first):
		return fmt.Errorf("there is no event %q: no kind begins with %q%s", fleet.Line(on, 80), fleet.Line(first, 40), nearest.Hint(first, families()))
	case !kind && !slices.Contains(events(), on):
		return fmt.Errorf("there is no event %q%s", fleet.Line(on, 80), nearest.Hint(on, events()))
	}
	return unillegal(ledger.CheckSchedule(fleet.Schedule{Name: "x", On: eventOf(on), Run: fleet.Run{Formula: fleet.PluginFormula(name)}}))
}

// unillegal leaves of a refusal of the ledger what is for people.
func unillegal(err error) error {
	if err == nil {
		return nil
	}
	_, text, found := strings.Cut(err.Error(), ledger.ErrIllegal.Error()+": ")
	if !found {
		return err
	}
	return errors.New(text)
}
