package cli

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/setup"
	"custos/internal/sys/settings"
)

// setupFlags are those of setup.
type setupFlags struct {
	yes, dryRun, undo          bool
	noCompletion               bool
	mode                       string
	hooks                      []string
	to                         string // where to be told: none, ntfy, matrix, telegram, shoutrrr
	server, room, chat, secret string
}

func (a *app) setupCommand() *cobra.Command {
	var f setupFlags
	c := &cobra.Command{
		Use:   "setup",
		Short: "Find what is here, ask what is yours, and write a small custos.toml",
		Long: `setup looks as custos does, and no further: at the agents that run, the repositories
they work in, tmux servers, and which agent CLIs are on PATH. It asks which places are
yours, how far Custos may go, and where you are to be told, and offers the hooks of
agents that you start yourself and the completion of your shell. Then it shows every
change, and makes them when you say yes. A custos.toml that is there is only replaced
when you say so, its difference before your eyes.

--undo puts back, byte for byte, what setup changed, and says what it left because it was
changed since. --yes takes the defaults: the places where only agents of yours work,
mode observe, nobody told, no hooks, the completion of bash or fish; --dry-run shows
what that would change, with --undo what would be put back. --json alone prints what was
found, and changes nothing.`,
		Example: "  custos setup\n  custos setup --dry-run\n  custos setup --yes --to ntfy\n  custos setup --undo",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.setup(cmd, f) },
	}
	c.AddCommand(a.setupTmuxCommand())
	fl := c.Flags()
	fl.BoolVar(&f.yes, "yes", false, "do not ask: take the defaults, and what is said by flags")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would be changed, and change nothing")
	fl.BoolVar(&f.undo, "undo", false, "put back what setup changed")
	fl.BoolVar(&f.noCompletion, "no-completion", false, "leave the completion of your shell alone")
	fl.StringVar(&f.mode, "mode", "observe", "how far Custos may go by itself, as a `CHOICE`: observe, ask or auto")
	fl.StringArrayVar(&f.hooks, "hooks", nil, "let agents of this `KIND` that you start yourself report what they do; may be repeated")
	fl.StringVar(&f.to, "to", "none", "the `CHOICE` of where you are told: none, ntfy, matrix, telegram or shoutrrr")
	fl.StringVar(&f.server, "server", "", "of matrix and ntfy: the `ADDRESS` of the server")
	fl.StringVar(&f.room, "room", "", "of matrix: the `ID` of the room; of ntfy: the topic (default: one that nobody guesses)")
	fl.StringVar(&f.chat, "chat", "", "of telegram: the `ID` of the chat")
	fl.StringVar(&f.secret, "token-file", "", "the `FILE` with the token, or with the URL of shoutrrr")
	return c
}

// configurationFile is what setup calls custos.toml.
const configurationFile = "configuration"

// setupCLI is an agent CLI that is on PATH.
type setupCLI struct {
	Kind     string `json:"kind"`
	Path     string `json:"path"`
	Version  string `json:"version,omitempty"`
	Outgrown string `json:"outgrown,omitempty"`
}

// setupChange is one file that setup changes, would change, or leaves.
type setupChange struct {
	What   string `json:"what"`
	Path   string `json:"path"`
	Did    string `json:"did"` // written, would be written, or left
	Why    string `json:"why,omitempty"`
	change settings.Change
	secret bool
}

// setupState is what setup found and did, as it prints it.
type setupState struct {
	Found   setup.Seen    `json:"found"`
	CLIs    []setupCLI    `json:"clis"`
	Changes []setupChange `json:"changes"`
	Hooks   []string      `json:"hooks"` // kinds that hooks were added for
	Told    []string      `json:"told"`  // whom the test message went to
	Notes   []string      `json:"notes"`
	DryRun  bool          `json:"dry_run"`
	Next    []api.Hint    `json:"next"`

	conf      config.Config
	book      string // the record of what is changed
	choice    setup.Choice
	secret    string // to be written to choice.Receiver.TokenFile; empty where that is there
	subscribe string // the address at which choice.Receiver is told by ntfy
	complete  *setup.Completion
	tmux      bool // its status line, and a key
	replace   bool // a custos.toml that is there
	asked     *questions
	hooks     []hookChange
}

func (a *app) setup(cmd *cobra.Command, f setupFlags) error {
	if f.undo {
		return a.undoSetup(cmd.Context(), f.dryRun)
	}
	asks := !f.yes && !f.dryRun && !a.json
	if asks && !a.Progress {
		return &api.Error{Kind: api.BadInput, Message: "cannot ask what is yours: this is no terminal", Hint: "custos setup --yes --dry-run"}
	}
	s, err := a.setupFound(cmd.Context(), f)
	if err != nil {
		return err
	}
	s.DryRun = f.dryRun || a.json && !f.yes
	if asks {
		err = a.askSetup(s)
	}
	if err == nil {
		err = a.propose(cmd.Context(), cmd.Root(), s)
	}
	if err != nil {
		return err
	}
	if asks {
		return a.setupAsked(cmd.Context(), s)
	}
	return a.finishSetup(cmd.Context(), s)
}

// setupFound looks, and takes what the flags say of the choice.
func (a *app) setupFound(ctx context.Context, f setupFlags) (*setupState, error) {
	conf, err := a.config()
	if err != nil {
		return nil, err
	}
	s := &setupState{CLIs: []setupCLI{}, Changes: []setupChange{}, Hooks: append([]string{}, f.hooks...), Told: []string{}, Notes: []string{}, Next: []api.Hint{},
		conf: conf, book: filepath.Join(conf.StateDir, "setup.json")}
	if err := a.receiverOf(s, f); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"observe", "ask", "auto"}, f.mode) {
		return nil, usage("cannot read --mode %q: want observe, ask or auto", flat(f.mode))
	}
	s.choice.Mode = f.mode
	text, err := put(ctx, a, patience, func(ctx context.Context, c *api.Client) ([]byte, error) { return c.Record(ctx) })
	if err != nil {
		return nil, err
	}
	if s.Found, err = setup.Read(text, a.home()); err != nil {
		return nil, err
	}
	s.choice.Places = slices.DeleteFunc(slices.Clone(s.Found.Places), func(p setup.Place) bool { return !p.Mine })
	// By itself only a file of its own is written; the line in ~/.zshrc takes a yes.
	if c, ok := a.completion(); ok && !f.noCompletion && c.Line == "" {
		s.complete = &c
	}
	return s, a.setupCLIs(ctx, s)
}

func (a *app) setupCLIs(ctx context.Context, s *setupState) error {
	k, err := put(ctx, a, patience, (func(ctx context.Context, c *api.Client) (api.Kinds, error) { return c.Kinds(ctx) }))
	for _, kind := range k.Kinds {
		if kind.Path != "" && !kind.Disabled {
			s.CLIs = append(s.CLIs, setupCLI{kind.Name, kind.Path, kind.Version, kind.Outgrown})
		}
	}
	return err
}

// propose says which files the choice changes.
func (a *app) propose(ctx context.Context, root *cobra.Command, s *setupState) error {
	for _, kind := range s.Hooks {
		all, err := a.hookChanges(ctx, "install", kind, "")
		if err != nil {
			return err
		}
		s.hooks = append(s.hooks, all...)
	}
	if err := a.proposeConfig(s); err != nil {
		return err
	}
	if s.complete != nil {
		if err := a.proposeCompletion(root, s); err != nil {
			return err
		}
	}
	return a.proposeTmux(s)
}

// proposeConfig says what becomes of custos.toml. Who is to be told by one that stays would not be.
func (a *app) proposeConfig(s *setupState) error {
	text := setup.Config(s.choice, a.home())
	switch {
	case text == "" && s.conf.Found:
		s.Notes = append(s.Notes, "custos.toml stays as it is: nothing is to be said besides")
	case text == "":
		s.Notes = append(s.Notes, "no custos.toml is needed: the defaults hold")
	case s.conf.Found && !s.replace && string(s.conf.Text) != text:
		if s.choice.Receiver != nil && s.asked == nil {
			return &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot have you told by that: %s is there already, and stays as it is", flat(s.conf.File)), Hint: "custos setup"}
		}
		why := "it is there already: run custos setup on a terminal to see the difference"
		if s.asked != nil {
			why = "as you said: nothing of what you chose about places, the mode and being told holds"
		}
		s.Changes = append(s.Changes, setupChange{What: configurationFile, Path: s.conf.File, Did: "left", Why: why})
	default:
		if s.secret != "" {
			if err := s.change("the secret of where you are told", s.choice.Receiver.TokenFile, []byte(s.secret+"\n"), true); err != nil {
				return err
			}
		}
		if s.subscribe != "" {
			s.Notes = append(s.Notes, "to be told, subscribe to "+s.subscribe+" in the ntfy app; who knows that address reads along")
		}
		return s.change(configurationFile, s.conf.File, []byte(text), false)
	}
	return nil
}

// topKey is the key of custos setup tmux.
const topKey = "u"

// proposeTmux adds what custos setup tmux adds.
func (a *app) proposeTmux(s *setupState) error {
	if !s.tmux {
		return nil
	}
	lines, err := a.tmuxLines(topKey)
	if err != nil {
		return err
	}
	f, err := settings.Read(a.tmuxConf(""))
	if err != nil {
		return localError(err)
	}
	text, err := setup.WithoutTmux(string(f.Was))
	switch line := setup.BoundAt(text, topKey); {
	case err != nil:
		s.Notes = append(s.Notes, "tmux is left alone: "+flat(err.Error()))
	case line > 0:
		s.Notes = append(s.Notes, fmt.Sprintf("tmux is left alone: %s:%d binds %s already; custos setup tmux --key KEY takes another one", f.Path, line, topKey))
	default:
		return s.change("tmux's status line, and custos top behind a key", f.Path, []byte(setup.WithTmux(text, lines)), false)
	}
	return nil
}

func (a *app) proposeCompletion(root *cobra.Command, s *setupState) error {
	var b bytes.Buffer
	var err error
	switch c := s.complete; c.Shell {
	case "bash":
		if !slices.ContainsFunc(bashCompletion(), func(file string) bool { _, err := os.Stat(file); return err == nil }) {
			s.Notes = append(s.Notes, "what completes in bash is read by the package bash-completion, which is not here: install it")
		}
		err = root.GenBashCompletionV2(&b, true)
	case "fish":
		err = root.GenFishCompletion(&b, true)
	case "zsh":
		var rc settings.File
		if rc, err = settings.Read(c.File); err == nil && !bytes.Contains(rc.Was, []byte(c.Line)) {
			b.Write(rc.Was)
			if len(rc.Was) > 0 && rc.Was[len(rc.Was)-1] != '\n' {
				b.WriteByte('\n')
			}
			b.WriteString(c.Line)
		}
	}
	if err != nil || b.Len() == 0 {
		return err
	}
	return s.change("completion of "+s.complete.Shell, s.complete.File, b.Bytes(), false)
}

// bashCompletion is where the package is that reads what completes in bash.
func bashCompletion() []string {
	return []string{"/usr/share/bash-completion/bash_completion", "/usr/local/share/bash-completion/bash_completion", "/etc/bash_completion"}
}

// change adds a file that is to be written, unless it is so already.
func (s *setupState) change(what, file string, text []byte, secret bool) error {
	mode := map[bool]fs.FileMode{true: 0o600, false: 0o644}[secret || what == configurationFile]
	c, err := settings.Prepare(file, text, mode)
	if err != nil {
		return localError(err)
	}
	if c.Changes() {
		s.Changes = append(s.Changes, setupChange{What: what, Path: c.Path, Did: "would be written", change: c, secret: secret})
	}
	return nil
}

// due are the changes to be made.
func (s *setupState) due() (out []settings.Change) {
	for _, c := range s.Changes {
		if c.Did == "would be written" {
			out = append(out, c.change)
		}
	}
	return out
}

// setupAsked shows every change, and makes them when a person says yes.
func (a *app) setupAsked(ctx context.Context, s *setupState) error {
	if len(s.due())+len(s.Hooks) == 0 {
		return a.finishSetup(ctx, s)
	}
	p := a.page()
	p.head("CHANGES", "")
	writeSetupChanges(p, s)
	if err := p.flush(); err != nil {
		return err
	}
	said, err := s.asked.choose("\nMake these changes?", []string{"yes", "no"}, "no")
	if err != nil {
		return err
	}
	if said != "yes" {
		return &api.Error{Kind: api.BadInput, Message: "nothing was changed: it takes a yes", Hint: "custos setup"}
	}
	return a.finishSetup(ctx, s)
}

func writeSetupChanges(p *page, s *setupState) {
	for _, c := range s.Changes {
		if c.What == configurationFile && s.replace { // its difference was asked about
			p.line("%s: %s, as shown above", c.What, p.path(c.Path))
			continue
		}
		writeSetupChange(p, c)
	}
	for _, h := range s.hooks {
		if !h.changed {
			continue
		}
		p.buf.WriteString(clean(string(diff.Diff(h.Path, h.Was, h.Path+" (after)", []byte(h.next.Settings)))))
	}
}

func writeSetupChange(p *page, c setupChange) {
	switch {
	case c.Did == "left":
		p.text(0, p.path(c.Path)+" is left: "+c.Why)
	case c.secret:
		p.line("%s: %s (only you may read it)", flat(c.What), p.path(c.Path))
	case len(c.change.Text()) > 8<<10:
		p.line("%s: %s (%s)", flat(c.What), p.path(c.Path), size(new(int64(len(c.change.Text())))))
	default:
		p.buf.WriteString(clean(string(diff.Diff(c.Path, c.change.Was, c.Path+" (after)", c.change.Text()))))
	}
}

// finishSetup makes the changes, tells a test message, and says what was done.
func (a *app) finishSetup(ctx context.Context, s *setupState) error {
	if !s.DryRun {
		if err := a.doSetup(ctx, s); err != nil {
			return err
		}
	}
	s.nextOf()
	return a.show(s, func(p *page) { writeSetup(p, s) })
}

func (a *app) doSetup(ctx context.Context, s *setupState) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if due := s.due(); len(due) > 0 {
		if err := settings.Do(s.book, due); err != nil {
			return &api.Error{Kind: api.CannotLook, Message: "cannot set up, and nothing was changed: " + flat(err.Error()), Hint: "custos setup --dry-run"}
		}
	}
	for i := range s.Changes {
		if s.Changes[i].Did == "would be written" {
			s.Changes[i].Did = "written"
		}
	}
	if err := a.setupHooks(s); err != nil {
		return err
	}
	return a.tellTest(ctx, s)
}

// setupHooks adds hooks, each noted before.
func (a *app) setupHooks(s *setupState) error {
	for _, h := range s.hooks {
		if !h.changed {
			continue
		}
		err := settings.Hooked(s.book, settings.Hook{Kind: h.next.Kind, File: h.Path})
		if err == nil {
			err = h.write("install")
		}
		if err != nil {
			return localError(fmt.Errorf("cannot add the hooks of %s: %w; what was changed besides is put back by custos setup --undo", flat(h.next.Kind), err))
		}
	}
	return nil
}

// tellTest sends a message to who is told from now on.
func (a *app) tellTest(ctx context.Context, s *setupState) error {
	if s.choice.Receiver == nil || !slices.ContainsFunc(s.Changes, func(c setupChange) bool { return c.What == configurationFile && c.Did == "written" }) {
		return nil
	}
	if a.runs() {
		s.Notes = append(s.Notes, "the daemon takes up custos.toml within seconds; then try: custos tell --try me")
		return nil
	}
	a.conf = nil
	told, err := put(ctx, a, patience, func(ctx context.Context, c *api.Client) (api.Telling, error) {
		return c.Tell(ctx, api.Tell{Text: "Custos was set up: you are told here from now on.", Priority: "P2", From: "setup"})
	})
	if err != nil {
		s.Notes = append(s.Notes, "the test message was not sent: "+flat(err.Error()))
		return nil
	}
	s.Told = append(s.Told, told.To...)
	return nil
}

func (s *setupState) nextOf() {
	if len(s.due()) > 0 {
		s.Next = append(s.Next, api.Hint{Command: "custos setup --yes", What: "do that"})
	}
	s.Next = append(s.Next, api.Hint{Command: "custos up", What: "keep watching"},
		api.Hint{Command: "custos top", What: "what needs you, live"},
		api.Hint{Command: "custos service install", What: "have systemd keep it running"})
	if slices.ContainsFunc(s.Changes, func(c setupChange) bool { return c.Did == "written" }) || !s.DryRun && len(s.Hooks) > 0 {
		s.Next = append(s.Next, api.Hint{Command: "custos setup --undo", What: "put it back as it was"})
	}
}
