package agent

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// Kind is one kind of agent CLI. Its fields are the keys of kinds/*.toml and of
// [kind.NAME] in custos.toml; docs/adding-a-kind.md explains them.
type Kind struct {
	Name string `toml:"-"`
	// From are the files that say something of it besides what is built in, the last of
	// which wins.
	From []string `toml:"-"`
	// Disabled makes Custos blind to the kind.
	Disabled bool `toml:"disabled"`

	// Generic: any command, of which nothing is known. It holds no conversation, so
	// it is started with nothing but its command line.
	Generic bool `toml:"generic"`

	// Names are base names of the program, of the script an interpreter runs, or
	// of what an interpreter calls itself.
	Names []string `toml:"names"`
	// Titles are names that count only for a process run by an interpreter: short
	// words that other programs use too.
	Titles []string `toml:"titles"`
	// Programs and Scripts are globs of whole paths; * crosses slashes.
	Programs []Glob `toml:"programs"`
	Scripts  []Glob `toml:"scripts"`
	// Modules are run by python -m.
	Modules []string `toml:"modules"`

	// ValueFlags take the next argument as their value.
	ValueFlags []string `toml:"value_flags"`
	// Helpers are first words, HelperFlags flags, of a process that is no agent: a
	// server, a login, an update.
	Helpers     []string `toml:"helpers"`
	HelperFlags []string `toml:"helper_flags"`
	// Sessions, when not empty, are the only first words that make an agent; none
	// at all does too.
	Sessions []string `toml:"sessions"`
	// OneShotFlags and OneShotWords make a run that answers one prompt and ends.
	OneShotFlags []string `toml:"oneshot_flags"`
	OneShotWords []string `toml:"oneshot_words"`

	// Registry is the folder, below HOME, of files PID.json that say what each
	// process is doing.
	Registry string `toml:"registry"`

	// Writes are files and folders, below HOME, that it writes besides those of its conversations.
	Writes []string `toml:"writes"`

	// Transcripts is where it keeps its conversations.
	Transcripts TranscriptMark `toml:"transcripts"`
	// Title are the marks of a terminal title; the first that matches counts.
	Title []TitleMark `toml:"title"`
	// SilentTitle is what a title without a mark means, when the screen agrees.
	SilentTitle MarkState `toml:"silent_title"`
	// Parts are pieces of screen that marks refer to as {name}.
	Parts map[string]string `toml:"parts"`
	// Screen are the marks of a screen; the first that matches counts.
	Screen []ScreenMark `toml:"screen"`

	// Dialogs are the questions it can stand at; the first that matches counts.
	Dialogs []DialogMark `toml:"dialog"`
	// Composer is where a prompt is typed.
	Composer ComposerMark `toml:"composer"`

	// Launch is how it is started in a terminal, Headless without one.
	Launch   LaunchMark `toml:"launch"`
	Headless LaunchMark `toml:"headless"`
	// Env is set, as NAME=VALUE, and Unset taken away, wherever it is started.
	Env   []string `toml:"env"`
	Unset []string `toml:"unset"`
	// Interrupt and Exit are the keys, by tmux's names, that end a turn and the
	// program. ExitCommand, typed at its prompt, is the kinder way.
	Interrupt   []string `toml:"interrupt"`
	Exit        []string `toml:"exit"`
	ExitCommand string   `toml:"exit_command"`
	// CompactCommand, typed at its prompt, has it make its conversation shorter.
	CompactCommand string `toml:"compact_command"`
	// QuitReasons are what its session-end hook gives as the reason only when
	// a person ended it at its prompt: some CLIs give one reason for every end.
	QuitReasons []string `toml:"quit_reasons"`

	// Hooks is what it tells by itself, and how it is made to.
	Hooks HooksMark `toml:"hooks"`

	// Proven are the versions on which its marks were found right, over a whole life of the
	// real CLI.
	Proven []string `toml:"proven"`
	// Denies are the versions of which a call that its policy denies was seen not to be made, and
	// DeniesSubagents those of which it was also seen where a sub-agent would make it.
	Denies          []string `toml:"denies"`
	DeniesSubagents []string `toml:"denies_subagents"`

	// Never says what the kind never tells without hooks, for docs and reasons.
	Never []string `toml:"never"`

	screen   []*regexp.Regexp
	dialogs  []*regexp.Regexp
	composer *regexp.Regexp
}

// TranscriptMark says where a kind keeps its conversations, and how they are read.
type TranscriptMark struct {
	// Home is the folder, below HOME; the variable Env of its environment names another, or
	// the folder of many programs that has it as Below.
	Home  string `toml:"home"`
	Env   string `toml:"env"`
	Below string `toml:"below"`
	// Files are globs below it: each of * ? [a-z] within one part of the path.
	Files []string `toml:"files"`
	// Folder is the name of a file, in a folder above a conversation's, that holds the path of
	// the folder in which it is held; empty where the conversation itself tells.
	Folder string `toml:"folder"`
	// Language is how they are written; see ReadTranscript.
	Language string `toml:"language"`
	// Failures: it tells of every error that ends a turn.
	Failures bool `toml:"failures"`
}

// Named is the folder that a value of Env names; "" for none.
func (m TranscriptMark) Named(value string) string {
	if value == "" || m.Below == "" {
		return value
	}
	return strings.TrimRight(value, "/") + "/" + m.Below
}

// AccountOf is whose conversation a file is, by the folder that it lies in; "" where no account
// has that, or two have. Home is the home folder, which the one that a kind uses by itself lies in; "" for none.
// Which folder the environment of a process names is not looked at.
func (k Kind) AccountOf(accounts fleet.Accounts, home, file string) (name string) {
	for _, a := range accounts {
		dir := k.Transcripts.Named(fleet.RawPath(a.ConfigDir))
		if dir == "" && home != "" {
			dir = path.Join(home, k.Transcripts.Home)
		}
		if a.Kind == k.Name && dir != "" && strings.HasPrefix(file, dir+"/") {
			if name != "" { // two that cannot be told apart
				return ""
			}
			name = a.Name
		}
	}
	return name
}

// finishTranscripts says what is wrong with the mark.
func (k *Kind) finishTranscripts() error {
	if !isBelow(k.Registry) {
		return fmt.Errorf("registry %q is no folder below the home folder", k.Registry)
	}
	m := k.Transcripts
	if m.Language == "" && len(m.Files) == 0 {
		return nil
	}
	if !slices.Contains(conversation.Languages(), m.Language) {
		return fmt.Errorf("transcripts.language %q is not known: want one of %s", m.Language, strings.Join(conversation.Languages(), ", "))
	}
	if strings.Contains(m.Below, "..") || strings.HasPrefix(m.Below, "/") {
		return fmt.Errorf("transcripts.below %q is no folder below another", m.Below)
	}
	if strings.Contains(m.Folder, "/") {
		return fmt.Errorf("transcripts.folder %q is no name of a file: want one without /", m.Folder)
	}
	for _, path := range append([]string{m.Home}, m.Files...) {
		if path == "" || !isBelow(path) || strings.Contains(path, "**") {
			return fmt.Errorf("transcripts: %q is no path below a folder: want one without .. and **, that does not begin with /", path)
		}
	}
	return nil
}

// isBelow says whether a path that is put behind a folder stays below it.
func isBelow(path string) bool {
	return !strings.HasPrefix(path, "/") && !slices.Contains(strings.Split(path, "/"), "..")
}

// TitleMark reads a terminal title.
type TitleMark struct {
	State MarkState `toml:"state"`
	Says  string    `toml:"says"`
	Match Pattern   `toml:"match"`
	// Ambiguous: the CLI shows the same mark in other states; the screen has to
	// agree.
	Ambiguous bool `toml:"ambiguous"`
}

// ScreenMark reads the end of a screen.
type ScreenMark struct {
	State MarkState `toml:"state"`
	Says  string    `toml:"says"`
	// Ends is a regular expression for whole lines at the very end of the screen.
	// Empty lines and spaces at line ends are not there.
	Ends string `toml:"ends"`
	// OverWorking lets the mark stand against a title that says working.
	OverWorking bool `toml:"over_working"`
	// Untold: no hook tells of it, and it takes the place of the prompt, so that it stands
	// against hooks that say that the turn is over.
	Untold bool `toml:"untold"`
	// LastTurn: it is what an error that ended a turn leaves above the prompt. A model can say
	// the same, so it counts only where nothing else tells how that turn ended.
	LastTurn bool `toml:"last_turn"`
	// OverCPU lets the mark stand against processor time: while the CLI works it
	// shows something else there, so what computes is a server or a tool that it
	// keeps in the background.
	OverCPU bool `toml:"over_cpu"`
}

// MarkState is an agent state in a kind's data.
type MarkState fleet.AgentState

// check refuses a state that does not exist, or that no mark can tell.
func (s MarkState) check() error {
	known := []fleet.AgentState{fleet.StateStarting, fleet.StateDialog, fleet.StateWorking, fleet.StateIdle,
		fleet.StateWaiting, fleet.StateRateLimited, fleet.StateAuthLost, fleet.StateContextHigh}
	if !slices.Contains(known, fleet.AgentState(s)) {
		return fmt.Errorf("state %q cannot be told by a mark; those that can are %v", s, known)
	}
	return nil
}

// Pattern is a regular expression (RE2).
type Pattern struct{ re *regexp.Regexp }

// UnmarshalText compiles the pattern.
func (p *Pattern) UnmarshalText(b []byte) (err error) {
	p.re, err = regexp.Compile(string(b))
	return err
}

// match says whether s holds a match; an empty pattern has none.
func (p Pattern) match(s string) bool { return p.re != nil && p.re.MatchString(s) }

// Glob is a path pattern in which * stands for anything, slashes included, ? for
// any one character, and [0-9] or [!0-9] for one that is in, or not in, a class: as
// a shell reads them, but for the slashes.
type Glob struct {
	re  *regexp.Regexp
	end string // what it ends in for certain: nearly all paths fail at that
}

// UnmarshalText compiles the glob.
func (g *Glob) UnmarshalText(b []byte) (err error) {
	var out strings.Builder
	for rest := string(b); rest != ""; {
		var part string
		if part, rest, err = globPart(rest); err != nil {
			return fmt.Errorf("cannot read the pattern %q: %w", b, err)
		}
		out.WriteString(part)
	}
	g.end = string(b[bytes.LastIndexAny(b, "*?]")+1:])
	g.re, err = regexp.Compile("(?s)^(?:" + out.String() + ")$")
	return err
}

// globPart reads the first part of a glob, as a regular expression.
func globPart(text string) (part, rest string, err error) {
	switch text[0] {
	case '*':
		return ".*", text[1:], nil
	case '?':
		return ".", text[1:], nil
	case '[':
		return globClass(text[1:])
	}
	n := strings.IndexAny(text, "*?[")
	if n < 0 {
		n = len(text)
	}
	return regexp.QuoteMeta(text[:n]), text[n:], nil
}

// globClass reads a class after its bracket.
func globClass(text string) (part, rest string, err error) {
	not := ""
	if text != "" && strings.Contains("!^", text[:1]) {
		not, text = "^", text[1:]
	}
	end := strings.Index(text, "]")
	if end <= 0 {
		return "", "", errors.New("a [ has no end")
	}
	class := strings.NewReplacer(`\`, `\\`, "[", `\[`, "^", `\^`, "&", `\&`, "~", `\~`).Replace(text[:end])
	return "[" + not + class + "]", text[end+1:], nil
}

// Match says whether the whole path matches.
func (g Glob) Match(path string) bool {
	return g.re != nil && path != "" && strings.HasSuffix(path, g.end) && g.re.MatchString(path)
}

// Kinds is a checked set of kinds.
type Kinds struct{ list []Kind }

// All returns the kinds, sorted by name.
func (k *Kinds) All() []Kind { return slices.Clone(k.list) }

// Generic is the name of the built-in kind of any command.
const Generic = "generic"

// Of returns the name of the kind that a command line starts: by its program, or
// the script that an interpreter runs; Generic when no kind is known by it.
func (k *Kinds) Of(argv []string) string {
	c := readCommand(fleet.Process{Args: argv})
	for _, kind := range k.list {
		if s, _ := kind.match(c); s != none && !kind.Disabled {
			return kind.Name
		}
	}
	return Generic
}

// Get returns the kind of a name.
func (k *Kinds) Get(name string) (Kind, bool) {
	for _, kind := range k.list {
		if kind.Name == name {
			return kind, true
		}
	}
	return Kind{}, false
}

// Names returns the names of the kinds, sorted.
func (k *Kinds) Names() []string {
	var names []string
	for _, kind := range k.list {
		names = append(names, kind.Name)
	}
	return names
}
