package triage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// Sizes of the evidence: of a line in characters, of a text in bytes, and of all
// of it. A screen of 60 lines has some 6 KiB.
const (
	widest    = 300
	mostText  = 24 << 10
	mostBytes = 64 << 10
	mostFiles = 40
	mostTried = 20
	mostSaid  = 5
)

// evidence is what a judge is shown. Every text in it is safe to show, cut, and
// redacted. What the passing of time alone changes is in Now and Times.
type evidence struct {
	Now        string            `json:"now,omitempty"`
	Times      map[string]string `json:"times,omitempty"`
	Alert      fleet.AlertKey    `json:"alert"`
	Why        string            `json:"why,omitempty"`
	Agent      agentSeen         `json:"agent"`
	Tool       *toolSeen         `json:"tool,omitempty"`
	Dialog     *dialogSeen       `json:"dialog,omitempty"`
	Task       string            `json:"task,omitempty"`
	LastPrompt string            `json:"last_prompt,omitempty"`
	Screen     []string          `json:"screen,omitempty"` // of its terminal, top to bottom
	Output     []string          `json:"output,omitempty"` // the end of its log
	Work       *workSeen         `json:"work,omitempty"`
	Tried      []tried           `json:"tried,omitempty"`    // for this alert, lately
	Verdicts   []earlier         `json:"verdicts,omitempty"` // on this alert, lately
	Unseen     []string          `json:"unseen,omitempty"`   // what could not be read, and why
}

type agentSeen struct {
	Name     string       `json:"name"`
	Instance string       `json:"instance"`
	Kind     string       `json:"kind"`
	Role     string       `json:"role,omitempty"`
	Project  string       `json:"project,omitempty"`
	OneShot  bool         `json:"oneshot,omitempty"`
	State    string       `json:"state"`
	Reason   string       `json:"reason,omitempty"`
	Source   string       `json:"source,omitempty"`
	Progress string       `json:"progress"`
	Signals  []signalSeen `json:"signals,omitempty"`
}

type signalSeen struct {
	Source string `json:"source"`
	Says   string `json:"says,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

type toolSeen struct {
	Name string `json:"name"`
	Args string `json:"args,omitempty"`
}

type dialogSeen struct {
	Says     string `json:"says"`
	Question string `json:"question,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Person   bool   `json:"person,omitempty"`
}

type workSeen struct {
	Branch    string   `json:"branch,omitempty"`
	Head      string   `json:"head,omitempty"`
	Changed   int      `json:"changed"`
	Untracked int      `json:"untracked"`
	Conflicts int      `json:"conflicts,omitempty"`
	Ahead     int      `json:"ahead,omitempty"`
	Files     []string `json:"files,omitempty"`
}

type tried struct {
	Do     string `json:"do"`
	Status string `json:"status"`
	Times  int    `json:"times"`
}

type earlier struct {
	Word       string  `json:"word"`
	Confidence float64 `json:"confidence"`
	Reason     string  `json:"reason"`
	Ago        string  `json:"ago"`
}

// gather puts the evidence together, and looks whether it was judged before.
func (r *run) gather(ctx context.Context, view agentrun.View) error {
	e := evidence{Now: r.x.Now().Wall.UTC().Format(time.RFC3339), Alert: r.action.For, Why: line(r.action.Why), Agent: seen(r.Agent), Times: times(r.Agent)}
	e.tools(r.Agent)
	r.told(ctx, &e)
	if err := r.printed(ctx, view, &e); err != nil {
		return err
	}
	r.worked(ctx, &e)
	if err := r.history(ctx, &e); err != nil {
		return err
	}
	return r.settle(ctx, e)
}

// settle writes the evidence down as it is asked about.
func (r *run) settle(ctx context.Context, e evidence) error {
	var err error
	if r.data, err = e.bounded(); err == nil {
		r.hash, err = e.hash()
	}
	if err != nil {
		return fmt.Errorf("cannot triage: %w", err)
	}
	was, known, err := r.x.records.Known(ctx, r.hash)
	if err != nil {
		return fmt.Errorf("cannot triage: it cannot be told whether this was judged before: %w", err)
	}
	if known {
		r.known = &was
	}
	return nil
}

// bounded is the evidence as JSON. Where that is too long, the oldest half of
// what was printed goes first.
func (e *evidence) bounded() (string, error) {
	for {
		data, err := encode(*e)
		if err != nil || len(data) <= mostBytes {
			return data, err
		}
		if len(e.Screen)+len(e.Output) == 0 {
			return "", fmt.Errorf("the evidence has %d bytes, %d are the most", len(data), mostBytes)
		}
		e.Screen, e.Output = e.Screen[(len(e.Screen)+1)/2:], e.Output[(len(e.Output)+1)/2:]
	}
}

func encode(e evidence) (string, error) {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	w.SetIndent("", " ")
	err := w.Encode(e)
	return b.String(), err
}

// line is one line of a foreign text.
func line(s string) string { return fleet.Line(hide(fleet.Text(s)), widest) }

func seen(a fleet.Agent) agentSeen {
	out := agentSeen{Name: line(a.Name), Instance: a.Instance, Kind: line(a.Kind), Role: line(a.Role), Project: line(a.Project), OneShot: a.OneShot,
		State: string(a.State), Reason: line(a.Reason), Source: line(a.Source), Progress: string(a.Progress)}
	if out.Instance == "" {
		out.Instance = fmt.Sprintf("%d/%d", a.Process.PID, a.Process.Start)
	}
	for i, s := range a.Signals {
		if i == mostTried {
			break
		}
		out.Signals = append(out.Signals, signalSeen{Source: line(s.Source), Says: line(s.Says), Hint: string(s.Hint)})
	}
	return out
}

// times is what changes though nothing happens.
func times(a fleet.Agent) map[string]string {
	out := map[string]string{}
	for name, d := range map[string]fleet.Leaf[fleet.Duration]{"in_this_state": a.Dwell, "quiet": a.Quiet, "age": a.Age, "processor_time": a.CPUTime} {
		if v, known := d.Get(); known {
			out[name] = time.Duration(v).Round(time.Second).String()
		}
	}
	if v, known := a.ContextPercent.Get(); known {
		out["context_used"] = fmt.Sprintf("%.0f %%", v)
	}
	if a.Tool != nil {
		out["tool_runs"] = time.Duration(a.Tool.Age).Round(time.Second).String()
		out["tool_may_take"] = a.Tool.Deadline.String()
	}
	return out
}

func (e *evidence) tools(a fleet.Agent) {
	if t := a.Tool; t != nil {
		e.Tool = &toolSeen{Name: line(t.Name), Args: line(t.Args)}
	}
	if d := a.Dialog; d != nil {
		e.Dialog = &dialogSeen{Says: line(d.Says), Question: line(d.Question), Tool: line(d.Tool), Person: d.Person}
	}
}

// told is what the agent is for, and what it was last told.
func (r *run) told(ctx context.Context, e *evidence) {
	e.Task = line(r.Agent.Task)
	var since fleet.Instant
	if r.Reg != nil {
		e.Task, since = line(r.Reg.Task), r.Reg.StartedAt
		if c := r.Reg.Checkpoint; c != nil {
			e.LastPrompt = line(c.LastPrompt)
		}
	}
	events, err := r.Reported(ctx, since)
	if err != nil {
		e.blind("what it was told", err)
	}
	for _, h := range slices.Backward(events) {
		if h.Event == fleet.HookPrompt {
			_, words, _ := strings.Cut(h.Text, " ")
			e.LastPrompt = line(words)
			return
		}
	}
}

// printed is the end of what the agent shows, or wrote.
func (r *run) printed(ctx context.Context, v agentrun.View, e *evidence) error {
	if !r.Headless() {
		e.Screen = tail(fleet.RedactWrapped(lined(v.Screen), hide), r.x.screen)
		return nil
	}
	text, err := r.Provider.Screen(ctx, r.Pane, r.x.output)
	if err != nil {
		return fmt.Errorf("cannot read what it wrote: %w", err)
	}
	e.Output = tail(lined(text), r.x.output)
	return nil
}

// worked is what there is of its work. git status says what changed, without
// running a filter or showing a content.
func (r *run) worked(ctx context.Context, e *evidence) {
	dir := fleet.RawPath(r.Agent.CWD.Or(""))
	if r.Reg != nil && agentrun.Folder(*r.Reg) != "" {
		dir = agentrun.Folder(*r.Reg)
	}
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, looking/3)
	defer cancel()
	place, err := git.Find(dir)
	if errors.Is(err, git.ErrNotRepository) {
		return
	}
	var c git.Changes
	if err == nil {
		c, err = r.x.git.Changes(ctx, place.Top, false)
	}
	if err == nil {
		err = c.Certain()
	}
	if err != nil {
		e.blind("its work", err)
		return
	}
	e.Work = &workSeen{Branch: line(c.Branch), Head: c.Head, Changed: len(c.Dirty), Untracked: len(c.Untracked), Conflicts: len(c.Conflicts), Ahead: c.Ahead}
	for _, f := range slices.Concat(c.Dirty, c.Untracked) {
		if len(e.Work.Files) < mostFiles {
			e.Work.Files = append(e.Work.Files, line(fleet.Path(f)))
		}
	}
	slices.Sort(e.Work.Files)
}

// history is what was done for this alert, and said of it.
func (r *run) history(ctx context.Context, e *evidence) error {
	done, said, err := r.x.records.History(ctx, r.action.For)
	if err != nil {
		return fmt.Errorf("cannot triage: what was tried before cannot be read: %w", err)
	}
	for _, d := range done {
		if d.Do != Do && d.Result != nil && len(e.Tried) < mostTried {
			e.try(tried{Do: line(d.Do), Status: string(d.Result.Status), Times: 1})
		}
	}
	now := r.x.Now()
	for _, v := range said[max(0, len(said)-mostSaid):] {
		e.Verdicts = append(e.Verdicts, earlier{Word: string(v.Word), Confidence: v.Confidence, Reason: line(v.Reason), Ago: now.Since(v.At).Round(time.Second).String()})
	}
	return nil
}

// try counts what was done with the same end.
func (e *evidence) try(t tried) {
	for i := range e.Tried {
		if e.Tried[i].Do == t.Do && e.Tried[i].Status == t.Status {
			e.Tried[i].Times++
			return
		}
	}
	e.Tried = append(e.Tried, t)
}

func (e *evidence) blind(what string, err error) {
	e.Unseen = append(e.Unseen, what+": "+line(err.Error()))
}

func lined(text string) []string {
	return strings.Split(strings.TrimRight(fleet.Text(text), " \n\t"), "\n")
}

// tail returns the last lines of all, redacted as a whole first: a key may take
// several.
func tail(all []string, lines int) []string {
	all = strings.Split(hide(strings.Join(all, "\n")), "\n")
	var out []string
	size := 0
	for _, l := range slices.Backward(all[max(0, len(all)-lines):]) {
		l = cut(l)
		if size += len(l); size > mostText {
			break
		}
		out = append(out, l)
	}
	slices.Reverse(out)
	return out
}

// cut keeps the blanks in a line: they are part of a screen.
func cut(l string) string {
	r := []rune(strings.TrimRight(l, " \t"))
	if len(r) > widest {
		return string(r[:widest-1]) + "…"
	}
	return string(r)
}
