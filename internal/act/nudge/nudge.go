// Package nudge is the action "nudge": it gives an agent a text as its next
// prompt. In a terminal that is a paste and, as a step of its own, Enter, and only
// while the agent is idle, its input line is known to be empty and no person
// may be typing there. What the agent's kind would take for something else than a
// prompt is typed otherwise, or not at all. The text is typed once, never again: it is
// delivered, by a proof that is named, or not delivered, or it cannot be told. What is
// still at the prompt when it was not taken is taken away again, where it is exactly
// what was typed, or what the CLI's completion made of that at Enter while nobody looked
// on: a text that stays there keeps every later one out. So does the agent's
// last prompt, which some CLIs put back there at an interrupt: it is taken away first.
package nudge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/agent/conversation"
	"custos/internal/fleet"
	"custos/internal/session"
)

// Do is the name of the action.
const Do = "nudge"

// Compact stands for the command by which an agent of its kind makes its conversation
// shorter.
const Compact = "{compact}"

// Options is the section [nudge] of custos.toml.
type Options struct {
	// Acknowledge is how long the agent may take to show that it got the text; three times as
	// long for its first one, where it does not tell that it began. Default "10s".
	Acknowledge string `toml:"acknowledge" is:"duration 1ms..1h"`
	// Echo is how long a pasted text may take to be seen at the prompt before Enter
	// is pressed. Default "2s".
	Echo string `toml:"echo" is:"duration 1ms..1h"`
	// Again is how long after Enter the text may still stand at the prompt before
	// Enter is pressed once more. Default "1s".
	Again string `toml:"again" is:"duration 1ms..1h"`

	World agentrun.World `toml:"-"`
}

// Action implements act.Action.
type Action struct {
	agentrun.World
	acknowledge, echo, again time.Duration
}

// New checks the options.
func New(o Options) (*Action, error) {
	x := &Action{}
	var errs [4]error
	x.World, errs[0] = o.World.Check()
	x.acknowledge, errs[1] = agentrun.Duration("acknowledge", o.Acknowledge, 10*time.Second)
	x.echo, errs[2] = agentrun.Duration("echo", o.Echo, 2*time.Second)
	x.again, errs[3] = agentrun.Duration("again", o.Again, time.Second)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("cannot set up nudge: %w", err)
	}
	return x, nil
}

// Ability implements act.Action. A text that may have been typed is not typed
// again.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{
		Do: Do, Touches: []fleet.PartName{fleet.PartAgents, fleet.PartSessions},
		Deadline: fleet.Duration(firstTakes*x.acknowledge + x.echo + 20*time.Second),
	}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	t := a.Target.Agent
	if t == nil {
		return nil
	}
	text := a.Text
	if k, ok := x.Kinds.Get(t.Kind); ok && text == Compact {
		text = k.CompactCommand
	}
	text = fleet.Line(text, 200)
	if t.Pane == nil {
		return []fleet.Command{{Argv: []string{"printf", "%s\n", text}, Note: "into the input of " + fleet.Line(t.Name, 80)}}
	}
	id := t.Pane.ID
	return []fleet.Command{
		{Argv: []string{"tmux", "-S", id.Socket, "load-buffer", "-"}, Note: "from standard input: " + text},
		{Argv: []string{"tmux", "-S", id.Socket, "paste-buffer", "-d", "-p", "-r", "-t", id.Pane}, Note: "if it still is that very pane, and that very agent in it"},
		{Argv: []string{"tmux", "-S", id.Socket, "send-keys", "-t", id.Pane, "Enter"}, Note: "once more, if the first one is lost"},
	}
}

// Prepare implements act.Action.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	return agentrun.Prepare(ctx, x.World, a.Target.Agent, func(live *agentrun.Live) *run {
		return &run{x: x, Live: live, text: session.Typed(a.Text), command: a.Command}
	}, (*run).ready)
}

// run is one text on its way.
type run struct {
	*agentrun.Live
	x       *Action
	text    string // as it is to be understood
	typed   string // as it is typed
	why     string // why that is not the same; "" where it is
	command bool   // it is a command of the agent's CLI, and meant as one
	talks   bool
	before  agentrun.View
	pasted  agentrun.View // as the screen was just before Enter
	since   fleet.Instant // nothing that was told before counts
	entered time.Time
	made    string // what its completion has made of the text at Enter; "" for nothing
	judged  bool   // what became of the text at Enter is known, or not to be told any more
	twice   bool   // Enter was pressed once more
	lost    error  // why it is not known to have been sent
	proof   fleet.Proof
	arrival *fleet.Arrival // nil as long as nothing was typed
}

func (r *run) ready(ctx context.Context) error {
	if err := r.wanted(); err != nil {
		return err
	}
	if s := r.Agent.State; s != fleet.StateIdle && s != fleet.StateStuck && !r.Agent.TurnOver() && !r.Agent.HeldUp() {
		return agentrun.Refused("it is %s, not idle", s)
	}
	if err := r.Place(ctx); err != nil {
		return err
	}
	if r.Headless() {
		return r.readyHeadless(ctx)
	}
	if err := r.spell(); err != nil {
		return err
	}
	r.talks = r.Talks(ctx) && !r.command // not every command is told of
	return r.clear(ctx)
}

// wanted refuses a text for an agent that is not to run.
func (r *run) wanted() error {
	if r.text == "" {
		return agentrun.Refused("there is nothing to say")
	}
	if r.Reg == nil || r.Reg.Desired == fleet.DesiredRunning {
		return nil
	}
	return agentrun.Refused("it is %s, by %s", r.Reg.Desired, fleet.Line(r.Reg.DesiredBy, 40))
}

// spell finds what has to be typed so that the text arrives as a prompt.
func (r *run) spell() (err error) {
	if r.text == Compact {
		r.text = r.Kind.CompactCommand
	}
	if r.text == "" {
		return agentrun.Never("it is not known how %s makes its conversation shorter", r.Kind.Name)
	}
	if r.command = r.command || r.text == r.Kind.CompactCommand; r.command {
		r.typed = r.text
		return agentrun.Typable(r.typed)
	}
	if r.typed, r.why, err = r.Kind.AsPrompt(r.text); err != nil {
		return agentrun.Never("%w: say it in other words", err)
	}
	return agentrun.Typable(r.typed)
}

// readyHeadless: only an agent that reads one message a line can be told more.
func (r *run) readyHeadless(ctx context.Context) error {
	if r.Reg == nil || !agentrun.Converses(r.Kind, *r.Reg) {
		return agentrun.Refused("it has no terminal, and takes one prompt only")
	}
	line, err := agentrun.Message(r.text)
	if err == nil {
		err = (session.Input{Text: line}).Check()
	}
	if err != nil {
		return agentrun.Refused("%w", err)
	}
	r.talks = r.Talks(ctx)
	r.before, err = r.Look(ctx)
	return err
}

// clear refuses a prompt that is not there, not empty, or in use by a person now.
func (r *run) clear(ctx context.Context) (err error) {
	if r.before, err = r.Look(ctx); err != nil {
		return err
	}
	if err := r.before.Undisturbed(); err != nil {
		return err
	}
	if d := r.before.Dialog; d != nil {
		return agentrun.Refused("it stands at a dialog: %s", d.Says)
	}
	switch shown, known := r.before.Typed.Get(); {
	case !known:
		return agentrun.Refused("it cannot be told whether its input line is empty: %s", r.before.Typed.Why())
	case shown != "" && r.isPutBack(ctx, shown):
		return nil // whether it is ready is seen when that is gone
	case shown != "":
		return agentrun.Refused("something is half-written in its input line")
	}
	if ready, known := r.before.Ready.Get(); r.Agent.State != fleet.StateStuck && !(ready && known) {
		return agentrun.Refused("it is not idle any more")
	}
	return nil
}

// Do implements act.Run. An error means that nothing was typed; what goes wrong
// after that is for Verify to say.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot nudge: %w", err)
	}
	r.since = r.x.Now()
	if r.Headless() {
		line, err := agentrun.Message(r.text)
		if err == nil {
			err = r.Provider.Type(ctx, r.Pane, session.Input{Text: line, Agent: r.Agent.Process})
		}
		return r.sent(err)
	}
	if err := r.free(ctx); err != nil {
		return err
	}
	err := r.sent(r.Provider.Type(ctx, r.Pane, session.Input{Text: r.typed, Agent: r.Agent.Process}))
	if err == nil && r.lost == nil {
		r.send(ctx)
	}
	return err
}

// sent returns an error of typing as one of Do, unless the text may have arrived.
func (r *run) sent(err error) error {
	if errors.Is(err, session.ErrInDoubt) {
		r.lost, err = err, nil
	}
	if err == nil {
		r.arrival = &fleet.Arrival{Outcome: fleet.OutcomeUnknown, Why: "it was not looked for"}
	}
	return err
}

// send presses Enter once the text is seen at the prompt.
func (r *run) send(ctx context.Context) {
	err := agentrun.Wait(ctx, r.x.echo, func(ctx context.Context) bool {
		v, err := r.Look(ctx)
		empty, known := v.Composer.Get()
		if err != nil || !known || empty {
			return false
		}
		r.pasted = v
		return true
	})
	if err != nil {
		r.lost = fmt.Errorf("it was typed, and not seen at its prompt: Enter was not pressed")
		return
	}
	// Some CLIs take an Enter that comes right behind a paste for a part of it.
	agentrun.Pause(ctx, settles)
	if err := r.enter(ctx); err != nil {
		r.lost = fmt.Errorf("it was typed, and Enter could not be pressed: %w", err)
	}
}

// settles is how long a CLI may take to see that a paste has ended.
const settles = 150 * time.Millisecond

func (r *run) enter(ctx context.Context) error {
	r.entered = time.Now()
	return r.Provider.Type(ctx, r.Pane, session.Input{Key: session.KeyEnter, Agent: r.Agent.Process})
}

// Verify implements act.Run. The agent's own word counts, where it has one.
func (r *run) Verify(ctx context.Context) (string, error) {
	if r.lost == nil {
		r.lost = r.await(ctx)
	}
	if r.lost == nil {
		r.arrival = &fleet.Arrival{Outcome: fleet.OutcomeDelivered, Proof: r.proof}
		return r.arrived(), nil
	}
	r.arrival = r.takeBack(ctx)
	if r.arrival.Proof != "" {
		return r.arrived(), nil
	}
	return "", errors.New(r.arrival.Words())
}

// firstTakes is how many times as long an agent may take that may be starting still: on a
// machine that starts five at once, opencode took eleven seconds.
const firstTakes = 3

// patience is how long the text may take to be acknowledged.
func (r *run) patience(ctx context.Context) time.Duration {
	if !r.talks || r.Kind.Hooks.TellsStart {
		return r.x.acknowledge
	}
	if told, err := r.Reported(ctx, fleet.Instant{}); err != nil || len(told) > 0 {
		return r.x.acknowledge
	}
	return firstTakes * r.x.acknowledge
}

// await waits for a proof that the text arrived.
func (r *run) await(ctx context.Context) error {
	err := agentrun.Wait(ctx, r.patience(ctx), func(ctx context.Context) bool {
		if r.proof = r.acknowledged(ctx); r.proof != "" {
			return true
		}
		if v, err := r.Look(ctx); err == nil {
			r.completes(v)
			if !r.talks && r.visible(v) {
				r.proof = fleet.ProofScreen
			} else {
				r.enterAgain(ctx, v)
			}
		}
		return r.proof != ""
	})
	if err != nil {
		return fmt.Errorf("the agent did not acknowledge it: %w", err)
	}
	return nil
}

// arrived says how it arrived, for people.
func (r *run) arrived() string {
	says := r.arrival.Words()
	if r.why != "" {
		before, behind, _ := strings.Cut(r.typed, r.text)
		says += fmt.Sprintf(", typed between %q and %q: %s would have taken it for %s", before, behind, r.Kind.Name, r.why)
	}
	if r.twice {
		says += ", after Enter was pressed once more"
	}
	return says
}

// Arrived implements act.arriver.
func (r *run) Arrived() *fleet.Arrival { return r.arrival }

// acknowledged returns what told of this very prompt; "" for nothing yet.
func (r *run) acknowledged(ctx context.Context) (by fleet.Proof) {
	events, err := r.Reported(ctx, r.since)
	if err != nil {
		return ""
	}
	want := []string{conversation.PromptHash(r.text), conversation.PromptHash(r.typed)}
	for _, e := range events {
		hash, _, _ := strings.Cut(e.Text, " ")
		told := e.Event == fleet.HookPrompt && slices.Contains(want, hash) || e.Event == fleet.HookCompact && r.command
		if told && !e.At.Before(r.since) && by != fleet.ProofTranscript {
			by = e.Proof()
		}
	}
	return by
}

// visible says whether the screen shows that the text was taken: the agent works,
// or the prompt is empty again and something was added.
func (r *run) visible(v agentrun.View) bool {
	if r.Headless() {
		return v.Screen != r.before.Screen
	}
	empty, known := v.Composer.Get()
	return v.Working || known && empty && v.Screen != r.before.Screen
}

// written is a screen without its blank lines: an Enter that was taken for a
// part of the text adds one.
func written(screen string) string {
	var lines []string
	for line := range strings.Lines(screen) {
		if line = strings.TrimSpace(line); strings.Trim(line, "│┃|> ") != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// enterAgain presses Enter once more where the first was lost: some time has
// passed, and the text still stands at the prompt as it did.
func (r *run) enterAgain(ctx context.Context, v agentrun.View) {
	empty, known := v.Composer.Get()
	if r.Headless() || r.twice || time.Since(r.entered) < r.x.again || !known || empty || v.Working || v.Dialog != nil {
		return
	}
	if written(v.Screen) != written(r.pasted.Screen) || v.Pane.InMode {
		return // something happened, or a person types
	}
	r.twice = true
	_ = r.enter(ctx) // what becomes of it is seen
}

// Learned returns what the ledger is to know: how far the first prompt got.
func (r *run) Learned() *fleet.Registration {
	if r.Reg == nil || r.Reg.Prompt == "" || session.Typed(r.Reg.Prompt) != r.text {
		return nil
	}
	reg := *r.Reg
	reg.PromptState = fleet.DeliveryUndelivered
	if r.proof != "" {
		reg.PromptState, reg.Prompt = fleet.DeliveryAcknowledged, ""
	}
	return &reg
}
