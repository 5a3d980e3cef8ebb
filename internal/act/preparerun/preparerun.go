// Package preparerun is the action "prepare-run": it makes the folder of a run,
// and writes what its agent is told: prompt.md at the start, compact.md again
// after its context was compacted. A person's reply to an escalation it takes out of
// the spool, and puts it into the prompt. It may be done as often as it is wished: what
// is there as it should be is left alone, and what the agent wrote always is.
package preparerun

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/formula"
	"custos/internal/sys/files"
	"custos/internal/sys/shim"
)

// Do is the name of the action.
const Do = "prepare-run"

// graphTime is how long the structural section may take; without it the prompt
// is as good as it was.
const graphTime = 5 * time.Second

// compactMax is how much an agent's hook may give back after compaction.
const compactMax = 8 << 10

// Options is what the composition root knows.
type Options struct {
	// Graph draws the structure of a project (a folder, raw); nil draws none.
	Graph func(ctx context.Context, dir string) (string, error)
	// Seen looks at what is so now (words of formula.Looks); nil sees nothing.
	Seen func(ctx context.Context, looks []string) (string, error)
	// ForgeURL returns the forge's API for a project; nil, or "", is none. What
	// stands before an @ in it never reaches a prompt.
	ForgeURL func(project string) string
	// Worktree returns where the worktree of an agent will be made (raw paths); nil
	// leaves it unsaid until it is there.
	Worktree func(repo, agent string) string
	// Room refuses where the disk is nearly full; nil asks nothing.
	Room func(dirs ...string) error
}

// Action implements act.Action.
type Action struct{ o Options }

// New makes the action.
func New(o Options) (*Action, error) { return &Action{o}, nil }

// Ability implements act.Action.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Do, Idempotent: true, Touches: []fleet.PartName{fleet.PartRuns}, Deadline: fleet.Duration(30 * time.Second)}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	t := a.Target.Step
	if t == nil {
		return nil
	}
	out := []fleet.Command{
		{Argv: []string{"mkdir", "-p", "-m", "0700", t.Run.Dir}},
		{Argv: []string{"write", fleet.Path(t.Run.File(fleet.RunPromptFile)), fleet.Path(t.Run.File(fleet.RunCompactFile))},
			Note: fmt.Sprintf("what the agent of formula %s is told", fleet.Line(t.Run.Formula, 80))},
	}
	if files := t.Run.ReplyFiles(); takesReply(t.Run) && files != nil {
		out = append(out, fleet.Command{Argv: []string{"mv", "-n", fleet.Path(files[0]), fleet.Path(t.Run.TakenReply(t.Run.Session.Answers))},
			Note: "or " + fleet.Path(files[1]) + ": a person's reply, which goes into the prompt"})
	}
	return out
}

// Prepare implements act.Action.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	t := a.Target.Step
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("cannot prepare a run: %w", ctx.Err())
	case t == nil || t.Step != "" || !shim.IsKey(t.Run.ID) || !filepath.IsAbs(fleet.RawPath(t.Run.Dir)):
		return nil, errors.New("cannot prepare a run: the target is no run with a folder")
	}
	r := &run{x: x, r: t.Run, dir: fleet.RawPath(t.Run.Dir)}
	if err := r.ours(); err != nil {
		return nil, err
	}
	if r.stands() {
		return nil, agentrun.Unneeded("its folder and its prompt are there")
	}
	if x.o.Room != nil {
		return r, x.o.Room(r.dir)
	}
	return r, nil
}

// run is one preparation.
type run struct {
	x     *Action
	r     fleet.Run
	dir   string
	notes []string // what the prompt does without
	size  int
}

// ours refuses a folder that is a link, a file or another user's.
func (r *run) ours() error {
	info, err := os.Lstat(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look at the folder of the run: %w", err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || !ok || int(st.Uid) != os.Getuid() {
		return agentrun.Refused("%s is no folder of ours", fleet.Path(r.dir))
	}
	return nil
}

// stamp is of all that a prompt says of the run itself.
func (r *run) stamp() []byte {
	type step struct{ ID, Title, Text, State, Note string }
	of := struct {
		Formula, Project, Work string
		Needs                  [][]string
		Steps                  []step
		Session                *fleet.RunSession
	}{Formula: r.r.Formula, Project: r.r.Project, Work: r.r.Work}
	if s := r.r.Session; s != nil {
		of.Session = &fleet.RunSession{Context: s.Context, Standing: s.Standing, Shown: s.Shown, Set: s.Set, Graph: s.Graph, Repo: s.Repo, Reply: s.Reply, Recovered: s.Recovered, Agent: s.Agent, Asks: s.Asks, Answers: s.Answers}
	}
	for _, s := range r.r.Steps {
		of.Needs, of.Steps = append(of.Needs, s.Needs), append(of.Steps, step{s.ID, s.Title, s.Text, told(s), s.Note})
	}
	text, err := json.Marshal(of)
	if err != nil {
		return nil // cannot be: it is texts
	}
	sum := sha256.Sum256(text)
	return []byte(hex.EncodeToString(sum[:]) + "\n")
}

// stands says whether all is there, and of the run as it is.
func (r *run) stands() bool {
	is, err := files.Read(r.r.File(fleet.RunStampFile), 4096)
	if err != nil || !bytes.Equal(is, r.stamp()) {
		return false
	}
	for _, name := range []string{fleet.RunPromptFile, fleet.RunCompactFile} {
		if info, err := os.Lstat(r.r.File(name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// Do implements act.Run. The stamp is written last: without it all is done again.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot prepare the run: %w", err)
	}
	if err := os.MkdirAll(r.r.StepsDir(), 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of the run: %w", err)
	}
	if err := os.Chmod(r.dir, 0o700); err != nil {
		return fmt.Errorf("cannot close the folder of the run to others: %w", err)
	}
	if err := r.takeReply(); err != nil {
		return err
	}
	if err := r.tell(ctx); err != nil {
		return errors.Join(err, r.putReplyBack())
	}
	return nil
}

// tell writes what the agent is told, and then of what it was made.
func (r *run) tell(ctx context.Context) error {
	r.openSpool()
	f, c := r.formula(), r.context(ctx)
	prompt := formula.Prompt(f, c)
	if s := r.r.Session; s != nil && s.Standing != "" {
		prompt = fleet.Text(s.Standing) + "\n\n" + prompt
	}
	r.size = len(prompt)
	for _, file := range []struct {
		name string
		text []byte
	}{{fleet.RunPromptFile, []byte(prompt)}, {fleet.RunCompactFile, []byte(cut(formula.Compact(f, c), compactMax))}, {fleet.RunStampFile, r.stamp()}} {
		if err := files.Replace(r.r.File(file.name), file.text, 0o600); err != nil {
			return fmt.Errorf("cannot write %s: %w", file.name, err)
		}
	}
	return nil
}

// Verify implements act.Run.
func (r *run) Verify(context.Context) (string, error) {
	if !r.stands() {
		return "", errors.New("cannot show that the prompt is there")
	}
	effect := fmt.Sprintf("%s written, %d bytes", fleet.Path(r.r.File(fleet.RunPromptFile)), r.size)
	for _, n := range r.notes {
		effect += "; " + n
	}
	return effect, nil
}

// Close implements act.Run.
func (r *run) Close() {}
