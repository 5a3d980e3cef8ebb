package agent

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// plugins are the programs that run inside of a CLI and tell what it does.
//
//go:embed hooks/*.js
var plugins embed.FS

// HooksMark says what a kind tells by itself: which events it has and what they mean,
// and how it is made to call our hook, at a launch and in the settings of a user.
type HooksMark struct {
	// Event are the events that are read.
	Event []HookEventMark `toml:"event"`
	// Fields say where the payloads hold what is read of them.
	Fields HookFields `toml:"fields"`
	// Questions are tools whose use is a question to a person.
	Questions []string `toml:"questions"`
	// TellsStart: it tells that it has begun before anything else happens.
	TellsStart bool `toml:"tells_start"`

	// Settings is the file, below HOME, that hooks are installed in. They stand there
	// below "hooks", as in Claude Code; or, of a kind with a plugin, as the plugin's
	// address in the list PluginList.
	Settings   string `toml:"settings"`
	Plugin     string `toml:"plugin"` // one of hooks/*.js
	PluginList string `toml:"plugin_list"`
	PluginURL  bool   `toml:"plugin_url"` // its address is a URL, no path
	// Timeout is how long the CLI may wait for our hook, in its own unit. The hook
	// itself gives up after 150 ms.
	Timeout int `toml:"timeout"`
	// StatusLine is where, in the settings, the command of its status line stands.
	StatusLine []string `toml:"status_line"`

	// Args and Env make one launch call our hook: {file} is a settings file with our
	// hooks and nothing else, {plugin} the plugin's path, {address} its address as a
	// JSON string. EventArgs are added for each event: {event}, {command} as a JSON
	// string, {timeout}.
	Args      []string `toml:"args"`
	Env       []string `toml:"env"`
	EventArgs []string `toml:"event_args"`
	// RootOnly: {file} is read only where root owns it and every folder above it, and
	// nobody else can write there.
	RootOnly bool `toml:"root_only"`
	// Also is what the settings file of a launch says besides: members of a JSON object.
	Also string `toml:"also"`

	// Tools is what a launch needs besides so that the agent is offered our tools.
	Tools ToolsMark `toml:"tools"`

	// Limits say, in plain words, what the hooks do not report or do.
	Limits []string `toml:"limits"`
}

// ToolsMark is what a launch needs so that the agent starts "custos mcp" for its tools: in
// each piece {program} is the path of custos, as a JSON string.
type ToolsMark struct {
	Args []string `toml:"args"` // behind those of the hooks
	Env  []string `toml:"env"`  // in the place of those of the hooks
	Also string   `toml:"also"` // what the settings file of the launch says besides: members of a JSON object
}

func (t ToolsMark) has() bool { return len(t.Args)+len(t.Env)+len(t.Also) > 0 }

func (t ToolsMark) check() error {
	if also := strings.ReplaceAll(t.Also, "{program}", `""`); also != "" && !json.Valid([]byte("{"+also+"}")) {
		return errors.New("tools: also is not members of a JSON object")
	}
	return environment("tools: env", t.Env)
}

// environment says what is wrong with variables.
func environment(where string, list []string) error {
	for _, e := range list {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return fmt.Errorf("%s: cannot read %q: want NAME=VALUE", where, e)
		}
	}
	return nil
}

// HookEventMark is one event, by the CLI's own name.
type HookEventMark struct {
	Name  string    `toml:"name"`
	Means HookMeans `toml:"means"`
	// Text are the fields whose words are the text of the event, and Case what those
	// words change of its meaning; the first that matches counts.
	Text []string   `toml:"text"`
	Case []HookCase `toml:"case"`
	// Fields stand in the place of the kind's own.
	Fields HookFields `toml:"fields"`
	// Failed: the call of a tool that it ends has failed.
	Failed bool `toml:"failed"`
	// Matcher: the CLI wants to be told that the hook is for every tool.
	Matcher bool `toml:"matcher"`
	// Context: what the hook prints becomes part of the conversation.
	Context bool `toml:"context"`
	// EndsTurn: what the hook prints can end the turn, with no tool cut short.
	EndsTurn bool `toml:"ends_turn"`
	// Unasked: it is read when it comes, and no hook is put on it.
	Unasked bool `toml:"unasked"`
}

// HookCase changes the meaning of an event by its text.
type HookCase struct {
	Match Pattern   `toml:"match"`
	Means HookMeans `toml:"means"`
}

// tellsFailures says whether an event tells that an error has ended a turn.
func (m HooksMark) tellsFailures() bool {
	return slices.ContainsFunc(m.Event, func(e HookEventMark) bool { return e.Means == HookMeans(fleet.HookFailure) })
}

// HookMeans is a name of fleet.HookName, "ignored", or "trouble": a failure where its
// cause is a rate limit or a login, else nothing but a notice.
type HookMeans string

const meansTrouble HookMeans = "trouble"

func (m HookMeans) check() error {
	known := []fleet.HookName{fleet.HookSessionStart, fleet.HookSessionEnd, fleet.HookPrompt, fleet.HookToolBegin, fleet.HookToolEnd, fleet.HookPermission,
		fleet.HookQuestion, fleet.HookAnswered, fleet.HookStop, fleet.HookRest, fleet.HookFailure, fleet.HookCompact, fleet.HookNotice, fleet.HookStatus, fleet.HookName(meansTrouble)}
	if !slices.Contains(known, fleet.HookName(m)) {
		return fmt.Errorf("means %q is no event; those that are: %v", m, known)
	}
	return nil
}

// HookFields are the places of what is read of a payload: keys, with points between
// those of objects that lie in each other.
type HookFields struct {
	Session string   `toml:"session"`
	Prompt  string   `toml:"prompt"`
	Tool    string   `toml:"tool"`
	Call    string   `toml:"call"`
	Args    string   `toml:"call_args"`
	Error   string   `toml:"error"`   // the name of what ended a turn
	Details []string `toml:"details"` // words about it
	Until   string   `toml:"until"`   // when a limit is reset: seconds or milliseconds since 1970
	Broken  string   `toml:"broken"`  // there is something in it when a tool has failed
}

// claudeFields are those of Claude Code, which most CLIs have taken over.
func claudeFields() HookFields {
	return HookFields{Session: "session_id", Prompt: "prompt", Tool: "tool_name", Call: "tool_use_id", Args: "tool_input",
		Error: "error", Details: []string{"error_details", "last_assistant_message"}}
}

// over are the fields with those of another beneath them.
func (f HookFields) over(below HookFields) HookFields {
	or := func(a *string, b string) {
		if *a == "" {
			*a = b
		}
	}
	or(&f.Session, below.Session)
	or(&f.Prompt, below.Prompt)
	or(&f.Tool, below.Tool)
	or(&f.Call, below.Call)
	or(&f.Args, below.Args)
	or(&f.Error, below.Error)
	or(&f.Until, below.Until)
	or(&f.Broken, below.Broken)
	if f.Details == nil {
		f.Details = below.Details
	}
	return f
}

// has says whether the kind tells anything by hooks.
func (m HooksMark) has() bool { return len(m.Event) > 0 }

// asked are the events that a hook is put on.
func (m HooksMark) asked() []HookEventMark {
	return slices.DeleteFunc(slices.Clone(m.Event), func(e HookEventMark) bool { return e.Unasked })
}

// event is the mark of an event; one that is not known is a notice.
func (m HooksMark) event(name string) HookEventMark {
	for _, e := range m.Event {
		if e.Name == name {
			return e
		}
	}
	return HookEventMark{Name: name, Means: HookMeans(fleet.HookNotice)}
}

// finishHooks checks what can be wrong in [hooks].
func (k *Kind) finishHooks() error {
	for _, e := range k.Hooks.Event {
		if err := e.check(); err != nil {
			return fmt.Errorf("hooks: event %q: %w", e.Name, err)
		}
	}
	if file := k.Hooks.Settings; file != "" && !isBelow(file) {
		return fmt.Errorf("hooks: settings %q is no file below the home folder", file)
	}
	if err := k.Hooks.checkPlugin(); err != nil {
		return fmt.Errorf("hooks: %w", err)
	}
	if also := k.Hooks.Also; also != "" && !json.Valid([]byte("{"+also+"}")) {
		return errors.New("hooks: also is not members of a JSON object")
	}
	if err := k.Hooks.Tools.check(); err != nil {
		return fmt.Errorf("hooks: %w", err)
	}
	return environment("hooks: env", k.Hooks.Env)
}

func (e HookEventMark) check() error {
	if e.Name == "" {
		return errors.New("an event needs a name")
	}
	for _, c := range e.Case {
		if c.Match.re == nil {
			return errors.New("a case needs match and means")
		}
		if err := c.Means.check(); err != nil {
			return err
		}
	}
	return e.Means.check()
}

func (m HooksMark) checkPlugin() error {
	if m.Plugin == "" {
		return nil
	}
	if _, err := plugins.ReadFile("hooks/" + m.Plugin); err != nil {
		entries, _ := plugins.ReadDir("hooks")
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return fmt.Errorf("there is no plugin %q; those that there are: %s", m.Plugin, strings.Join(names, ", "))
	}
	if m.PluginList == "" {
		return errors.New("plugin needs plugin_list: the list in its settings that names plugins")
	}
	return nil
}
