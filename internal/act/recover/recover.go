// Package recover is the action "recover": it starts an agent that ended again,
// in the same folder, whose files it does not touch. What is uncommitted is
// backed up first, a terminal that was left is closed, and the conversation is
// gone on with by the CLI's own resume; where there is none, or it cannot be
// resumed, a new one begins with words that say what was done. It has worked when
// the agent lives for some seconds and shows that it is ready.
package recover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/session"
	"custos/internal/sys/git"
	"custos/internal/sys/shim"
)

// Do is the name of the action.
const Do = "recover"

// Options is the section [recover] of custos.toml.
type Options struct {
	// Settle is how long it must live. Default "3s".
	Settle string `toml:"settle" is:"duration 1ms..1h"`
	// Boot is how long it may take to show that it is ready. Default "90s".
	Boot string `toml:"boot" is:"duration 1ms..1h"`

	// BackupWait is how long its backup may take. Then it is started without one: its
	// files lie where it left them. Default "20s".
	BackupWait string `toml:"backup_wait" is:"duration 1ms..1h"`

	Launcher *agentrun.Launcher `toml:"-"`
	Git      *git.Reader        `toml:"-"` // default git.New
	Backup   git.WriterOptions  `toml:"-"` // bounds of a backup
	Home     string             `toml:"-"` // where kinds keep registry files; empty: HOME
}

// Action implements act.Action.
type Action struct {
	*agentrun.Launcher
	saver        agentrun.Saver
	settle, boot time.Duration
	backup       time.Duration
	home         string
}

// New checks the options.
func New(o Options) (*Action, error) {
	if o.Launcher == nil {
		return nil, errors.New("cannot set up recover: nothing starts agents")
	}
	if o.Git == nil {
		o.Git = git.New(git.Options{})
	}
	if o.Home == "" {
		o.Home = os.Getenv("HOME")
	}
	x := &Action{Launcher: o.Launcher, home: o.Home,
		saver: agentrun.Saver{World: o.Launcher.World, Git: o.Git, Writer: git.NewWriter(o.Git, o.Backup)}}
	var errs [3]error
	x.settle, errs[0] = agentrun.Duration("settle", o.Settle, 3*time.Second)
	x.boot, errs[1] = agentrun.Duration("boot", o.Boot, 90*time.Second)
	x.backup, errs[2] = agentrun.Duration("backup_wait", o.BackupWait, 20*time.Second)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("cannot set up recover: %w", err)
	}
	return x, nil
}

// Ability implements act.Action.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{
		Do: Do, Idempotent: true, Starts: true,
		Touches:  []fleet.PartName{fleet.PartAgents, fleet.PartProcesses, fleet.PartSessions, fleet.PartRepos, fleet.PartHost},
		Deadline: fleet.Duration(10*time.Minute + x.settle + x.boot),
	}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	if a.Target.Registration == nil {
		if a.Target.Agent == nil {
			return nil
		}
		return []fleet.Command{{Argv: []string{shim.Program, "--", a.Target.Agent.Kind}, Note: "as its registration says"}}
	}
	reg := *a.Target.Registration
	dir := agentrun.Folder(reg)
	out := []fleet.Command{{Argv: []string{"git", "-C", fleet.Path(dir), "update-ref", git.BackupRefs + "<branch>/<UTC time>", "<commit>"},
		Note: "back up first; the files stay as they are"}}
	p := x.plan(reg, a.Target.Agent, nil, a.Text)
	p.first.Planned = true
	b, err := x.Plan(reg, agentrun.Instance(a.ID), dir, p.first)
	if err != nil {
		return append(out, fleet.Command{Argv: []string{shim.Program, "--", reg.Kind}, Note: fleet.Line(err.Error(), 200)})
	}
	return append(out, fleet.Command{Argv: b.Command.Argv, Note: fmt.Sprintf("in %s, %s, as instance %s of its own %s", fleet.Path(dir), reg.Where, b.Launch.Instance, shim.Program)})
}

// Prepare implements act.Action.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	if a.Target.Agent == nil && a.Target.Registration == nil {
		return nil, errors.New("cannot recover: the target is no agent")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot recover: %w", err)
	}
	name := a.Subject.Name
	if a.Target.Agent != nil {
		name = a.Target.Agent.Name
	}
	reg, err := x.Registration(ctx, name, a.Target.Registration)
	if err != nil {
		return nil, err
	}
	if reg == nil {
		return nil, agentrun.Refused("it is not registered: nothing says how it is started")
	}
	r := &run{x: x, tell: func(fleet.Registration) {}, dir: agentrun.Folder(*reg), person: fleet.IsPerson(a.By), text: a.Text,
		instances: [2]string{agentrun.Instance(a.ID), agentrun.Instance(a.ID + "\x00afresh")}}
	r.old = before(*reg, a.Target.Registration, r.instances[:])
	if err := r.check(ctx, a.Target.Agent); err != nil {
		return nil, err
	}
	return r, nil
}

// check asks everything that can be wrong before anything is done.
func (r *run) check(ctx context.Context, seen *fleet.Agent) error {
	switch {
	case !r.old.Owner.MayTouch():
		return agentrun.Never("it is not ours")
	case r.old.Owner == fleet.OwnerAdopted && len(r.old.Argv) == 0:
		return agentrun.Never("it was adopted, and nothing says how it is started")
	case r.old.Desired == fleet.DesiredRetired || r.old.Desired != fleet.DesiredRunning && !r.person:
		return agentrun.Refused("it is to be %s, by %s", r.old.Desired, fleet.Line(r.old.DesiredBy, 40))
	}
	if err := r.x.Free(r.old, r.instances[:]...); err != nil {
		return err
	}
	if seen != nil && seen.Process != r.old.Process {
		if alive, err := r.x.Lives(seen.Process); alive || err != nil {
			return errors.Join(err, agentrun.Refused("process %d of it may live", seen.Process.PID))
		}
	}
	if err := r.x.CheckPlace(r.old, r.dir, r.person); err != nil {
		return err
	}
	if err := r.x.Room(r.dir); err != nil {
		return err
	}
	told, err := r.x.Reported(ctx, r.old.StartedAt, r.old.Instance, r.old.Process)
	if err != nil {
		told = nil // it is then taken to have been at work
	}
	r.plan = r.x.plan(r.old, seen, told, r.text)
	if r.begin, err = r.x.Plan(r.old, r.instances[0], r.dir, r.plan.first); err != nil {
		return err
	}
	if r.plan.second != nil {
		r.spare, err = r.x.Plan(r.old, r.instances[1], r.dir, *r.plan.second)
	}
	return err
}

// run is one recovery.
type run struct {
	text      string // of the order, when it has something to say
	x         *Action
	old       fleet.Registration
	dir       string // raw
	person    bool
	instances [2]string // the resumed one, and the one that begins afresh
	plan      plan
	how       agentrun.How // what was started was told
	ready     string       // by what it was seen to be ready; "" while it was not
	unready   string       // or else why not
	tell      func(fleet.Registration)
	unresumed *fleet.Exit    // of what was to go on with its conversation; nil while it may
	begin     agentrun.Begin // of what is started; after a failed resume, the spare
	spare     agentrun.Begin
	got       session.Launched
	since     fleet.Instant
	began     time.Time
	saved     *fleet.Checkpoint
	says      []string
	learned   *fleet.Registration
	given     error
}

// Foretell implements act.Foreteller.
func (r *run) Foretell(tell func(fleet.Registration)) { r.tell = tell }

// Do implements act.Run. A conversation that its CLI refuses begins afresh; one
// whose process was ended from outside is not known to be bad.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot recover: %w", err)
	}
	r.save(ctx)
	if err := r.closeOld(ctx); err != nil {
		return err
	}
	if r.isSecond() {
		return r.afresh(ctx)
	}
	if err := r.start(ctx, r.plan.first); err != nil {
		return err
	}
	if r.plan.second == nil {
		return nil
	}
	if exit := r.settled(ctx); exit == nil || exit.Status == nil || *exit.Status == 0 {
		return nil
	}
	return r.afresh(ctx)
}

// save keeps what is uncommitted. When that cannot be kept (a file is too big, a
// repository lies inside, git does not answer), it still lies in place, where
// nothing touches it: the recovery goes on, and says so.
func (r *run) save(ctx context.Context) {
	if slices.ContainsFunc(r.instances[:], r.x.isBegun) {
		return // the first try did
	}
	within, cancel := context.WithTimeoutCause(ctx, r.x.backup, fmt.Errorf("git did not end within %s", r.x.backup))
	defer cancel()
	c, fresh, err := r.x.saver.Save(within, r.old, r.dir)
	if within.Err() != nil && err != nil {
		err = context.Cause(within) // whatever the call that was cut off made of it
	}
	if err != nil {
		r.says = append(r.says, fleet.Line("without a backup: "+err.Error(), 160))
		return
	}
	r.saved = &c
	r.says = append(r.says, agentrun.Saved(c, fresh))
}

// closeOld closes the terminal that the old instance left, in our own server.
func (r *run) closeOld(ctx context.Context) error {
	if r.old.Owner != fleet.OwnerCustos || r.old.Where != fleet.WhereTmux || r.old.Instance == "" {
		return nil
	}
	if slices.Contains(r.instances[:], r.old.Instance) {
		return nil // nothing is known of the one before
	}
	return r.closeLeft(ctx, r.old.Instance)
}

// closeLeft closes the terminal that an instance left, if it did.
func (r *run) closeLeft(ctx context.Context, instance string) error {
	if r.old.Where != fleet.WhereTmux {
		return nil
	}
	p, pane, err := r.x.Find(ctx, &fleet.Agent{Instance: instance, Owner: r.old.Owner})
	if errors.Is(err, act.ErrRefused) {
		return nil // it is gone
	}
	if err == nil {
		err = p.Close(ctx, pane.ID)
	}
	if err != nil {
		return fmt.Errorf("cannot close the terminal it left: %w", err)
	}
	r.says = append(r.says, "the terminal it left is closed")
	return nil
}

// start starts the instance that is planned, or finds it.
func (r *run) start(ctx context.Context, how agentrun.How) error {
	r.how, r.ready = how, ""
	r.began = time.Now()
	if err := r.x.CheckPlace(r.old, r.dir, r.person); err != nil { // minutes may have passed since
		return err
	}
	got, since, err := r.x.Start(ctx, &r.begin)
	if err != nil {
		return err
	}
	r.got, r.since = got, since
	reg := agentrun.Learned(r.old, r.begin, got, r.since)
	r.x.NotePlace(&reg, r.dir)
	reg.Unresumed = r.unresumed
	if r.saved != nil {
		reg.Checkpoint = r.saved
	}
	if r.plan.firstPrompt {
		reg.PromptState = fleet.DeliverySent
	}
	if r.handsOn() { // its acknowledgement is of these words
		reg.Prompt, reg.PromptState = r.how.Prompt, fleet.DeliverySent
	}
	if r.plan.fresh {
		reg.Prompt, reg.PromptState, reg.SessionID = r.plan.first.Prompt, fleet.DeliverySent, r.begin.Command.Session
		if r.begin.Command.Typed != "" {
			reg.PromptState = fleet.DeliveryPending
		}
	}
	r.learned = &reg
	r.tell(reg)
	if r.given = r.x.Give(ctx, r.begin, got); r.given != nil && (r.plan.firstPrompt || r.plan.fresh || r.handsOn()) {
		r.learned.PromptState = fleet.DeliveryUndelivered
	}
	return nil
}

// handsOn says whether what it is told now repeats its first prompt.
func (r *run) handsOn() bool {
	return r.toldNow() && r.old.Prompt != "" && strings.HasSuffix(r.how.Prompt, firstPrompt(r.old))
}

// ending says how what was started ended.
func (r *run) ending() string {
	_, exit, err := shim.Read(r.begin.Launch.Shim)
	if err != nil || exit == nil {
		return "it cannot be told how it ended"
	}
	return agentrun.Ending(*exit)
}

// Learned returns what the ledger is to know; nil when nothing was started.
func (r *run) Learned() *fleet.Registration { return r.learned }

// Close implements act.Run.
func (r *run) Close() {}
