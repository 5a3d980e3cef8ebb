package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"custos/internal/agent/conversation"
)

// LaunchMark says how a kind is started, in pieces of a command line. In Resume,
// New and Prompt a piece may hold {session} or {prompt}; each piece stays one
// argument whatever is put into it, and no shell ever reads it.
type LaunchMark struct {
	Program    string   `toml:"program"`    // default: the kind's first name
	Args       []string `toml:"args"`       // always
	Autonomous []string `toml:"autonomous"` // never asks for permission
	// NotAsRoot: the CLI refuses Autonomous when it is run by root.
	NotAsRoot bool     `toml:"not_as_root"`
	New       []string `toml:"new"`      // a new conversation under an ID that is chosen beforehand
	Resume    []string `toml:"resume"`   // the conversation {session}
	Continue  []string `toml:"continue"` // the newest conversation of the folder
	Prompt    []string `toml:"prompt"`   // the first prompt; without it, it is typed
	// Context names the file {file} of standing instructions that stand beside its own; without it they
	// stand before the first prompt. ContextExcludes are arguments that it does not go with.
	Context         []string `toml:"context"`
	ContextExcludes []string `toml:"context_excludes"`
	// Stdin: the first prompt is written to standard input, which is then closed.
	Stdin bool `toml:"stdin"`
	// Stream is the language of its output: claude, codex, gemini or opencode.
	Stream string `toml:"stream"`
}

// finishLaunch checks what can be wrong in [launch] and [headless].
func (k *Kind) finishLaunch() error {
	for where, m := range map[string]LaunchMark{"launch": k.Launch, "headless": k.Headless} {
		if err := m.check(); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	return environment("env", k.Env)
}

func (m LaunchMark) check() error {
	for key, pieces := range map[string][]string{"resume": m.Resume, "new": m.New} {
		if len(pieces) > 0 && !strings.Contains(strings.Join(pieces, "\n"), "{session}") {
			return fmt.Errorf("%s needs {session} in one of its arguments", key)
		}
	}
	if len(m.Prompt) > 0 && !strings.Contains(strings.Join(m.Prompt, "\n"), "{prompt}") {
		return errors.New("prompt needs {prompt} in one of its arguments")
	}
	if len(m.Context) > 0 && !strings.Contains(strings.Join(m.Context, "\n"), "{file}") {
		return errors.New("context needs {file} in one of its arguments")
	}
	if m.Stream != "" && !slices.Contains(conversation.OutputLanguages(), m.Stream) {
		return fmt.Errorf("stream %q is not understood; those that are: %s", m.Stream, strings.Join(conversation.OutputLanguages(), ", "))
	}
	return nil
}

// LaunchOptions is what a start is to be like.
type LaunchOptions struct {
	Headless   bool
	Autonomous bool
	Root       bool   // the agent will run as root
	Prompt     string // the first prompt, if any
	Resume     string // ID of the conversation to go on with
	Continue   bool   // go on with the newest conversation of the folder
	Session    string // ID for a new conversation, where the kind lets one choose it
	// Context are standing instructions, "" for none, and ContextFile the file that they are in when it is started.
	Context, ContextFile string
	// Hooks are arguments that stand right after the program: those of LaunchHooks.
	Hooks []string
	// Program replaces the kind's own, Extra follows the kind's own arguments and
	// precedes everything the options add: what a person wrote behind --.
	Program string
	Extra   []string
}

// Command is a start, ready for exec.
type Command struct {
	Argv  []string
	Env   []string // NAME=VALUE, to set
	Unset []string // names, to take away
	Stdin string   // to write to standard input; the whole of it
	Typed string   // to type at the prompt once it is ready; empty when Argv or Stdin carry it
	// Session is the conversation's ID as far as it is known beforehand.
	Session string
	Stream  string // language of the output; empty when there is none to read
}

// mostPrompt is the longest prompt put into an argument, in bytes: Linux takes
// 128 KiB in one.
const mostPrompt = 100 << 10

// Launch returns how an agent of the kind is started. An error says what the
// kind cannot do; nothing is left out silently.
func Launch(k Kind, o LaunchOptions) (Command, error) {
	m := k.Launch
	if o.Headless {
		m = k.Headless
	}
	c := Command{Env: slices.Clone(k.Env), Unset: slices.Clone(k.Unset), Stream: m.Stream}
	if k.Generic {
		return k.plain(c, o)
	}
	c.Argv = slices.Concat([]string{k.program(o)}, o.Hooks, m.Args)
	if err := k.addContext(&c, m, &o); err != nil {
		return Command{}, fmt.Errorf("cannot start %s: %w", k.Name, err)
	}
	c.Argv = append(c.Argv, o.Extra...)
	text := o.Prompt
	o.Prompt = m.argument(k.FirstPrompt(text))
	for _, add := range []func(*Command, LaunchMark, LaunchOptions) error{addAutonomy, addSession, addPrompt} {
		if err := add(&c, m, o); err != nil {
			return Command{}, fmt.Errorf("cannot start %s: %w", k.Name, err)
		}
	}
	if c.Typed != "" {
		c.Typed = text // who types it sees to what is special then
	}
	return c, nil
}

// addContext gives standing instructions the kind's own way, else before the first prompt: a conversation that is gone
// on with has them there already.
func (k Kind) addContext(c *Command, m LaunchMark, o *LaunchOptions) error {
	switch {
	case o.Context == "":
	case len(m.Context) > 0:
		if i := slices.IndexFunc(o.Extra, m.excludes); i >= 0 {
			return fmt.Errorf("its own command line has %s, which does not go with context", strings.SplitN(o.Extra[i], "=", 2)[0])
		}
		c.Argv = append(c.Argv, fill(m.Context, "{file}", o.ContextFile)...)
	case o.Resume != "" || o.Continue:
	case o.Prompt == "":
		return errors.New("its context stands before its first prompt, and it has none")
	case !o.Headless && len(m.Prompt) == 0 && !m.Stdin:
		return errors.New("its context would stand before its first prompt, which is typed: that is for kinds that are given it as an argument or as a file")
	default:
		_, o.Prompt = k.Instructed(o.Headless, o.Context, o.Prompt)
		if !m.Stdin && len(o.Prompt) > mostPrompt {
			return fmt.Errorf("its context and its first prompt have %d bytes, and an argument may have %d", len(o.Prompt), mostPrompt)
		}
	}
	return nil
}

// Instructed is how a kind is given standing instructions: the arguments, with {file}, and the first prompt, which the
// instructions stand before where there are none.
func (k Kind) Instructed(headless bool, text, prompt string) (args []string, with string) {
	m := k.Launch
	if headless {
		m = k.Headless
	}
	if len(m.Context) > 0 || text == "" {
		return slices.Clone(m.Context), prompt
	}
	return nil, text + "\n\n" + prompt
}

func (m LaunchMark) excludes(arg string) bool {
	flag, _, _ := strings.Cut(arg, "=")
	return slices.Contains(m.ContextExcludes, flag)
}

// plain is the start of any command: what a person wrote, and nothing more.
func (k Kind) plain(c Command, o LaunchOptions) (Command, error) {
	switch {
	case o.Program == "":
		return Command{}, fmt.Errorf("cannot start %s: it is any command: write it behind --", k.Name)
	case o.Prompt != "" || o.Resume != "" || o.Continue || o.Context != "":
		return Command{}, fmt.Errorf("cannot start %s: it is not known how this command takes a prompt: write it into its command line", k.Name)
	}
	c.Argv = append([]string{o.Program}, o.Extra...)
	return c, nil
}

func (k Kind) program(o LaunchOptions) string {
	names := append([]string{o.Program, k.Launch.Program}, append(k.Names, k.Titles...)...)
	for _, name := range append(names, k.Name) {
		if name != "" {
			return name
		}
	}
	return ""
}

func addAutonomy(c *Command, m LaunchMark, o LaunchOptions) error {
	switch {
	case !o.Autonomous:
	case len(m.Autonomous) == 0:
		return errors.New("it is not known how to start it so that it does not ask for permission")
	case m.NotAsRoot && o.Root:
		return fmt.Errorf("it refuses %s as root: use another user, or let it ask", strings.Join(m.Autonomous, " "))
	}
	if o.Autonomous {
		c.Argv = append(c.Argv, m.Autonomous...)
	}
	return nil
}

func addSession(c *Command, m LaunchMark, o LaunchOptions) error {
	switch {
	case o.Resume != "" && len(m.Resume) == 0:
		return errors.New("it is not known how it resumes a conversation")
	case o.Resume != "" && !plainID(o.Resume):
		return fmt.Errorf("%q is no ID of a conversation", o.Resume)
	case o.Resume != "":
		c.Argv, c.Session = append(c.Argv, fill(m.Resume, "{session}", o.Resume)...), o.Resume
	case o.Continue && len(m.Continue) == 0:
		return errors.New("it is not known how it goes on with its last conversation")
	case o.Continue:
		c.Argv = append(c.Argv, m.Continue...)
	case o.Session != "" && len(m.New) > 0:
		if !plainID(o.Session) {
			return fmt.Errorf("%q is no ID of a conversation", o.Session)
		}
		c.Argv, c.Session = append(c.Argv, fill(m.New, "{session}", o.Session)...), o.Session
	}
	return nil
}

func addPrompt(c *Command, m LaunchMark, o LaunchOptions) error {
	switch {
	case o.Prompt == "" && o.Headless:
		return errors.New("without a terminal it needs a prompt")
	case o.Prompt == "":
	case strings.ContainsRune(o.Prompt, 0):
		return errors.New("the prompt holds a zero byte")
	case m.Stdin:
		c.Argv, c.Stdin = append(c.Argv, fill(m.Prompt, "{prompt}", "-")...), o.Prompt
	case len(m.Prompt) > 0 && len(o.Prompt) <= mostPrompt:
		c.Argv = append(c.Argv, fill(m.Prompt, "{prompt}", o.Prompt)...)
	case o.Headless:
		return fmt.Errorf("it takes its prompt as an argument, and %d bytes are too many", len(o.Prompt))
	default:
		c.Typed = o.Prompt
	}
	return nil
}

// argument is a prompt as it can stand where the mark puts it: by itself, and not behind --, it
// must not begin like a flag or the name of a file.
func (m LaunchMark) argument(prompt string) string {
	i := slices.Index(m.Prompt, "{prompt}")
	if m.Stdin || i < 0 || i > 0 && m.Prompt[i-1] == "--" || !strings.HasPrefix(prompt, "-") && !strings.HasPrefix(prompt, "@") {
		return prompt
	}
	return " " + prompt
}

func fill(pieces []string, mark, with string) []string {
	out := make([]string, len(pieces))
	for i, p := range pieces {
		out[i] = strings.ReplaceAll(p, mark, with)
	}
	return out
}

// plainID says whether a conversation's ID can stand in an argument without
// being taken for a flag or a path.
func plainID(id string) bool {
	return id != "" && len(id) <= 128 && id[0] != '-' && !strings.ContainsFunc(id, notInID)
}

func notInID(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
}
