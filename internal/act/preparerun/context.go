package preparerun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/formula"
	"custos/internal/sys/files"
)

// How much of files goes into a prompt: one, all of them, and the scratch file
// (the seed's 8 KiB).
const (
	fileMax    = 32 << 10
	filesMax   = 128 << 10
	scratchMax = 8 << 10
	replyMax   = 8 << 10
	graphMax   = 32 << 10
	seenMax    = 64 << 10
)

// formula is the run as its prompt is made from.
func (r *run) formula() formula.Formula {
	f := formula.Formula{Name: r.r.Formula, File: r.r.Source, Project: r.r.Project}
	for _, s := range r.r.Steps {
		step := formula.Step{ID: s.ID, Title: s.Title, Description: s.Text, Needs: s.Needs, Uses: s.Uses}
		if s.Do == fleet.StepRun {
			step.Run = &formula.Run{Script: s.Script, Argv: s.Argv}
		}
		f.Steps = append(f.Steps, step)
	}
	return f
}

// told is what an agent is told of how far a step is.
func told(s fleet.RunStep) string {
	if s.State == fleet.StepWaiting || s.State == fleet.StepReady || s.State == fleet.StepRunning && s.Do == fleet.StepProse {
		return ""
	}
	return string(s.State)
}

func (r *run) context(ctx context.Context) formula.PromptContext {
	c := formula.PromptContext{Run: r.r.ID, Project: r.r.Project, PhaseFile: r.r.File(fleet.RunPhaseFile),
		Scratch: r.r.File(fleet.RunScratchFile), ScratchWas: r.scratch(), Repo: fleet.RawPath(r.r.Work)}
	for _, s := range r.r.Steps {
		if state := told(s); state != "" {
			c.Done = append(c.Done, formula.Ended{ID: s.ID, State: state, Note: s.Note})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.r.Vars)) {
		c.Values = append(c.Values, formula.EnvName(name)+"="+fleet.Line(r.r.Vars[name], 200))
	}
	if r.x.o.ForgeURL != nil {
		c.ForgeURL = bare(r.x.o.ForgeURL(r.r.Project))
	}
	if s := r.r.Session; s != nil {
		r.session(ctx, s, &c)
	}
	return c
}

func (r *run) session(ctx context.Context, s *fleet.RunSession, c *formula.PromptContext) {
	c.Files = r.files(s.Context)
	c.Worktree = fleet.RawPath(s.Worktree)
	if c.Worktree == "" && s.Repo != "" && r.x.o.Worktree != nil {
		c.Worktree = r.x.o.Worktree(fleet.RawPath(s.Repo), s.Agent)
	}
	if s.Recovered > 0 {
		c.Recovered = "it died"
	}
	for _, v := range s.Set {
		name, value, _ := strings.Cut(v, "=")
		if name == "FORGE_API" {
			c.ForgeURL = bare(value)
			v = name + "=" + c.ForgeURL
		}
		c.Values = append(c.Values, fleet.Line(v, 500))
	}
	c.Facts = r.seen(ctx, s.Shown)
	c.Replies = r.replies(s)
	if s.Graph && r.x.o.Graph != nil {
		c.Structure = r.graph(ctx)
	}
}

// seen is what was looked at for the prompt. When that fails the prompt says so: an
// agent that was promised it must not take nothing for healthy.
func (r *run) seen(ctx context.Context, looks []string) string {
	if len(looks) == 0 || r.x.o.Seen == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, graphTime)
	defer cancel()
	text, err := r.x.o.Seen(ctx, looks)
	if err != nil {
		r.notes = append(r.notes, "without "+strings.Join(looks, " and ")+": "+fleet.Line(err.Error(), 100))
		return "It could not be seen: " + fleet.Line(err.Error(), 300)
	}
	if len(text) > seenMax {
		return cut(text, seenMax) + "\n(cut: custos preflight shows all of it)"
	}
	return text
}

// graph is left out when it fails, or takes too long: the look goes on in vain
// then, until it notices.
func (r *run) graph(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, graphTime)
	defer cancel()
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := r.x.o.Graph(ctx, fleet.RawPath(r.r.Work))
		got <- answer{text, err}
	}()
	select {
	case a := <-got:
		if a.err == nil {
			return cut(a.text, graphMax)
		}
		r.notes = append(r.notes, "without the structural section: "+fleet.Line(a.err.Error(), 100))
	case <-ctx.Done():
		r.notes = append(r.notes, "without the structural section: it took too long")
	}
	return ""
}

// scratch is what the agent kept, of a session before this one.
func (r *run) scratch() string {
	text, _, err := head(r.r.File(fleet.RunScratchFile), scratchMax)
	if err != nil {
		return ""
	}
	return text
}

// files reads the context. What is missing, or does not fit, is named.
func (r *run) files(names []string) (out []formula.File) {
	left := filesMax
	for _, name := range names {
		f := formula.File{Name: fleet.Path(name)}
		text, size, err := r.file(fleet.RawPath(name), min(left, fileMax))
		switch {
		case err != nil:
			f.Missing = why(err)
		case left == 0 && size > 0:
			f.Missing = fmt.Sprintf("left out: the files before it take %d KiB; read it yourself", filesMax>>10)
		default:
			f.Text = text
			left -= len(text)
			if int64(len(text)) < size {
				f.Text += fmt.Sprintf("\n(cut: %d of %d bytes)", len(text), size)
			}
		}
		if f.Missing != "" {
			r.notes = append(r.notes, "without "+fleet.Line(f.Name, 80)+": "+f.Missing)
		}
		out = append(out, f)
	}
	return out
}

var errOutside = errors.New("it leads out of the project")

// file reads one context file. A path that is not absolute is the project's, and
// may not lead out of it, through links neither: a checked-in link must not
// bring a key of ours into a prompt.
func (r *run) file(name string, most int) (string, int64, error) {
	work := fleet.RawPath(r.r.Work)
	if filepath.IsAbs(name) || work == "" {
		return head(name, most)
	}
	path, err := filepath.EvalSymlinks(filepath.Join(work, name))
	if err != nil {
		return "", 0, err
	}
	base, err := filepath.EvalSymlinks(work)
	if err != nil {
		return "", 0, err
	}
	if rel, err := filepath.Rel(base, path); err != nil || !filepath.IsLocal(rel) {
		return "", 0, errOutside
	}
	return head(path, most)
}

func why(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, files.ErrNotRegular):
		return "it is no regular file"
	}
	return fleet.Line(err.Error(), 200)
}

// head reads the first bytes of a regular file, and says how many it has.
func head(path string, most int) (string, int64, error) {
	f, info, err := files.OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	text, err := files.Head(f, most)
	if err != nil {
		return "", 0, err
	}
	return cut(string(text), most), info.Size, nil
}

// cut shortens a text to whole characters.
func cut(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "") }

// bare is a URL without what authorises its use; "" when it is none.
func bare(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return strings.TrimRight(u.String(), "/")
}
