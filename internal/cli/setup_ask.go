package cli

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"custos/internal/api"
	"custos/internal/setup"
	"custos/internal/sys/settings"
)

// receiverOf takes from the flags where people are told.
func (a *app) receiverOf(s *setupState, f setupFlags) error {
	r := setup.Receiver{Type: f.to, Server: f.server, Room: f.room, Chat: f.chat}
	if f.secret != "" {
		file, err := filepath.Abs(f.secret)
		if err != nil {
			return usage("cannot read --token-file: %v", err)
		}
		r.TokenFile = file
	}
	switch f.to {
	case "none":
		return nil
	case "ntfy":
		return s.byNtfy(f.server, f.room)
	case "matrix", "telegram", "shoutrrr":
	default:
		return usage("cannot read --to %q: want none, ntfy, matrix, telegram or shoutrrr", flat(f.to))
	}
	for _, needed := range []struct{ of, flag, value string }{{"matrix", "--server", f.server}, {"matrix", "--room", f.room}, {"telegram", "--chat", f.chat}, {f.to, "--token-file", f.secret}} {
		if needed.of == f.to && needed.value == "" {
			return usage("cannot tell by %s without %s", f.to, needed.flag)
		}
	}
	s.choice.Receiver = &r
	return nil
}

// byNtfy has people told by a topic of ntfy; whoever knows its name may read it.
func (s *setupState) byNtfy(server, topic string) error {
	if server == "" {
		server = "https://ntfy.sh"
	}
	if topic == "" {
		topic = "custos-" + strings.ToLower(rand.Text()[:16])
	}
	url, err := setup.Ntfy(server, topic)
	if err != nil {
		return usage("%v", err)
	}
	s.choice.Receiver = &setup.Receiver{Type: "shoutrrr", TokenFile: filepath.Join(filepath.Dir(s.conf.File), "me.url")}
	s.secret = url
	s.subscribe = strings.TrimSuffix(server, "/") + "/" + topic
	return nil
}

// questions are put on a terminal, one after the other.
type questions struct {
	a  *app
	in *bufio.Reader
}

// ask returns what is typed, or what Enter alone stands for.
func (q questions) ask(question, usual string) (string, error) {
	if _, err := io.WriteString(q.a.Stderr, clean(question)+" ["+clean(usual)+"]: "); err != nil {
		return "", err
	}
	line, err := q.a.unlessInterrupted(func() ([]byte, error) { return q.in.ReadBytes('\n') })
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(q.a.Stderr) // what is said of it stands on a line of its own
	}
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return "", &api.Error{Kind: api.BadInput, Message: "nothing was changed: a question was not answered", Hint: "custos setup"}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return cmp.Or(strings.TrimSpace(string(line)), usual), nil
}

// choose asks until what is typed is one of a few.
func (q questions) choose(question string, all []string, usual string) (string, error) {
	for {
		said, err := q.ask(question+" ("+strings.Join(all, ", ")+")", usual)
		if err != nil || slices.Contains(all, said) {
			return said, err
		}
		fmt.Fprintf(q.a.Stderr, "want one of: %s\n", strings.Join(all, ", "))
	}
}

// secret is typed without being shown, where this is a terminal.
func (q questions) secret(question string) (string, error) {
	f, ok := q.a.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return q.ask(question, "")
	}
	fmt.Fprint(q.a.Stderr, question+" (not shown): ")
	was, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", err
	}
	b, err := q.a.unlessInterrupted(func() ([]byte, error) { return term.ReadPassword(int(f.Fd())) })
	fmt.Fprintln(q.a.Stderr)
	if errors.Is(err, context.Canceled) { // its reader is left behind, and would have shown keys again
		_ = term.Restore(int(f.Fd()), was)
	}
	return strings.TrimSpace(string(b)), err
}

// askSetup shows what was found, and asks what is to become of it. Nothing is changed.
func (a *app) askSetup(s *setupState) error {
	p := a.page()
	p.line("%s", p.paint(bold, "Enter takes what stands in brackets; Ctrl-C ends this. Nothing is changed before you say yes at the end."))
	writeFound(p, s)
	p.line("")
	if err := p.flush(); err != nil {
		return err
	}
	q := questions{a, bufio.NewReader(a.Stdin)}
	s.asked = &q
	for _, step := range []func(questions, *setupState) error{askPlaces, askMode, askReceiver, askHooks, askTmux, askCompletion, askReplace} {
		if err := step(q, s); err != nil {
			return err
		}
	}
	return nil
}

func askPlaces(q questions, s *setupState) error {
	if len(s.Found.Places) == 0 {
		return nil
	}
	var usual []string
	for i, pl := range s.Found.Places {
		if pl.Mine {
			usual = append(usual, strconv.Itoa(i+1))
		}
	}
	for {
		said, err := q.ask("Which places are yours? Custos may mend what is; the rest it only looks at. Numbers, or none", cmp.Or(strings.Join(usual, " "), "none"))
		if err != nil {
			return err
		}
		if s.choice.Places, err = chosen(s.Found.Places, said); err == nil {
			return nil
		}
		fmt.Fprintln(q.a.Stderr, err)
	}
}

// chosen are the places of which a person typed the numbers.
func chosen(all []setup.Place, said string) (out []setup.Place, err error) {
	if said == "none" {
		return nil, nil
	}
	for _, word := range strings.FieldsFunc(said, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(all) {
			return nil, fmt.Errorf("want numbers from 1 to %d, or none", len(all))
		}
		if all[n-1].Unfit != "" {
			return nil, fmt.Errorf("place %d: %s", n, all[n-1].Unfit)
		}
		out = append(out, all[n-1])
	}
	return out, nil
}

func askMode(q questions, s *setupState) (err error) {
	s.choice.Mode, err = q.choose("How far may Custos go by itself?", []string{"observe", "ask", "auto"}, s.choice.Mode)
	return err
}

func askReceiver(q questions, s *setupState) error {
	if s.choice.Receiver != nil { // said by flags
		return nil
	}
	to, err := q.choose("Where are you to be told what needs you?", []string{"none", "ntfy", "matrix", "telegram", "shoutrrr"}, "none")
	if err != nil || to == "none" {
		return err
	}
	if to == "ntfy" {
		server, err := q.ask("The server", "https://ntfy.sh")
		if err != nil {
			return err
		}
		topic, err := q.ask("The topic; anyone who knows it reads along", "custos-"+strings.ToLower(rand.Text()[:16]))
		if err != nil {
			return err
		}
		return s.byNtfy(server, topic)
	}
	r := setup.Receiver{Type: to, TokenFile: filepath.Join(filepath.Dir(s.conf.File), "me.token")}
	for _, one := range []struct {
		of, question string
		to           *string
	}{{"matrix", "The homeserver, as https://matrix.example.org", &r.Server}, {"matrix", "The ID of the room, as !abc:example.org", &r.Room}, {"telegram", "The ID of the chat", &r.Chat}} {
		if one.of == to {
			if *one.to, err = q.ask(one.question, ""); err != nil {
				return err
			}
			if *one.to == "" {
				return usage("nothing was changed: %s needs that", to)
			}
		}
	}
	what := map[string]string{"matrix": "The access token", "telegram": "The token of the bot", "shoutrrr": "The URL of the service"}[to]
	if s.secret, err = q.secret(what); err == nil && s.secret == "" {
		err = usage("nothing was changed: %s needs that", to)
	}
	s.choice.Receiver = &r
	return err
}

// askHooks offers the hooks of the CLIs that are there.
func askHooks(q questions, s *setupState) error {
	for _, c := range s.CLIs {
		if slices.Contains(s.Hooks, c.Kind) {
			continue
		}
		all, err := q.a.hookChanges(context.Background(), "install", c.Kind, "")
		if err != nil || !slices.ContainsFunc(all, func(h hookChange) bool { return h.changed }) {
			continue // it has none, or has them
		}
		said, err := q.choose("Add hooks to the settings of "+flat(c.Kind)+", so that those you start yourself report what they do?", []string{"yes", "no"}, "no")
		if err != nil {
			return err
		}
		if said == "yes" {
			s.Hooks = append(s.Hooks, c.Kind)
		}
	}
	return nil
}

func askTmux(q questions, s *setupState) error {
	if len(s.Found.Servers) == 0 {
		return nil
	}
	said, err := q.choose("Show who needs you in the status line of your tmux, and custos top behind prefix "+topKey+"?", []string{"yes", "no"}, "no")
	s.tmux = said == "yes"
	return err
}

// completion is where the shell of this person looks for completions.
func (a *app) completion() (setup.Completion, bool) {
	base := func(name, otherwise string) string { return cmp.Or(a.Getenv(name), a.home()+otherwise) }
	return setup.CompletionOf(a.Getenv("SHELL"), base("XDG_DATA_HOME", "/.local/share"), base("XDG_CONFIG_HOME", "/.config"), base("ZDOTDIR", ""))
}

func askCompletion(q questions, s *setupState) error {
	c, ok := q.a.completion()
	if !ok {
		return nil
	}
	usual := "no"
	if s.complete != nil {
		usual = "yes"
	}
	said, err := q.choose("Complete commands and names in "+c.Shell+"? It writes "+c.File, []string{"yes", "no"}, usual)
	s.complete = nil
	if said == "yes" {
		s.complete = &c
	}
	return err
}

// askReplace asks about a custos.toml that is there, its difference before a person's eyes.
func askReplace(q questions, s *setupState) error {
	text := setup.Config(s.choice, q.a.home())
	if !s.conf.Found || text == "" || string(s.conf.Text) == text {
		return nil
	}
	p := q.a.page()
	c, err := settings.Prepare(s.conf.File, []byte(text), 0o644)
	if err != nil {
		return localError(err)
	}
	p.line("")
	writeSetupChange(p, setupChange{Path: s.conf.File, change: c})
	if err := p.flush(); err != nil {
		return err
	}
	said, err := q.choose("There is a "+s.conf.File+". Replace it, as shown above?", []string{"yes", "no"}, "no")
	s.replace = said == "yes"
	return err
}

// undone is what --undo did.
type undone struct {
	Files  []settings.Undone `json:"files"`
	Hooks  []settings.Hook   `json:"hooks"` // that were taken out
	DryRun bool              `json:"dry_run,omitempty"`
	Then   string            `json:"then,omitempty"` // what a tmux that runs takes it up with
}

// undoSetup puts back what setup changed, or says what that would be. The configuration is not read: it may be broken.
func (a *app) undoSetup(ctx context.Context, dry bool) error {
	a.brakes = true // what setup wrote may be what is wrong
	conf, err := a.config()
	if err != nil {
		return err
	}
	file := filepath.Join(conf.StateDir, "setup.json")
	book, err := settings.OpenBook(file)
	if err != nil {
		return localError(err)
	}
	u := undone{Files: []settings.Undone{}, Hooks: []settings.Hook{}, DryRun: dry}
	if dry {
		u.Files, u.Hooks = append(u.Files, book.WouldUndo()...), append(u.Hooks, book.Hooks...)
		return a.show(u, func(p *page) { writeUndone(p, u) })
	}
	for _, h := range book.Hooks {
		if err := a.unhook(ctx, file, h); err != nil {
			return localError(fmt.Errorf("cannot take out the hooks of %s: %w", flat(h.Kind), err))
		}
		u.Hooks = append(u.Hooks, h)
	}
	was := book.Now()
	list, err := settings.Undo(file)
	u.Files = append(u.Files, list...)
	if err != nil {
		return localError(err)
	}
	for _, f := range list {
		if then := tmuxForgets(f.Path, was[f.Path]); f.Left == "" && then != "" {
			u.Then = then
		}
	}
	return a.show(u, func(p *page) { writeUndone(p, u) })
}

func (a *app) unhook(ctx context.Context, file string, hook settings.Hook) error {
	all, err := a.hookChanges(ctx, "uninstall", hook.Kind, hook.File)
	if err != nil {
		return err
	}
	for _, h := range all {
		if h.changed {
			err = h.write("uninstall")
		}
	}
	if err != nil {
		return err
	}
	return settings.Unhooked(file, hook)
}

func writeUndone(p *page, u undone) {
	if len(u.Files)+len(u.Hooks) == 0 {
		p.line("There is nothing to undo: setup changed nothing, or it was put back.")
	}
	would := ""
	if u.DryRun {
		would = "would be "
	}
	for _, h := range u.Hooks {
		p.line("%staken out: the hooks of %s in %s", would, flat(h.Kind), p.path(h.File))
	}
	for _, f := range u.Files {
		if f.Left != "" {
			p.text(0, "left "+p.path(f.Path)+": "+flat(f.Left))
			continue
		}
		p.line("%s%s: %s", would, f.Did, p.path(f.Path))
	}
	if u.Then != "" {
		p.line("A tmux that runs takes it up with: %s", u.Then)
	}
	if u.DryRun && len(u.Files)+len(u.Hooks) > 0 {
		p.next([]api.Hint{{Command: "custos setup --undo", What: "do that"}})
	}
}
