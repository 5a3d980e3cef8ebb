package agent

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// hookFiles is the folder, below the run folder, of the files that hooks need.
func hookFiles(runDir string) string { return path.Join(runDir, "hooks") }

// LaunchHooks returns what makes an agent of a kind call hookBinary at its
// hooks, without touching a file of the user's: arguments to put right after the
// program's name, variables for its environment (KEY=VALUE), and files to write
// first (absolute path to contents; the same for every agent of the kind, mode
// 0600, in folders that no other user can write to). Both paths are absolute.
//
// The user's own hooks go on running beside ours: CLIs add them up, and plugins.
// HookLimits says what each kind cannot do. A kind without hooks is an error.
//
// program, when it is not "", is the absolute path of custos: the agent is offered its tools
// (custos mcp). A kind that is not known to take any is an error then.
func (k *Kinds) LaunchHooks(kind, hookBinary, runDir, program string) (args, env []string, files map[string][]byte, err error) {
	of, _ := k.Get(kind)
	if !of.Hooks.has() {
		return nil, nil, nil, fmt.Errorf("cannot hook %s: it has no hooks that are known", kind)
	}
	if of, err = of.offering(program); err != nil {
		return nil, nil, nil, err
	}
	fill := of.filler(hookBinary, runDir)
	for _, a := range of.Hooks.Args {
		args = append(args, fill.Replace(a))
	}
	for _, e := range of.Hooks.asked() {
		args = append(args, of.eventArgs(e, hookBinary, runDir)...)
	}
	for _, e := range of.Hooks.Env {
		env = append(env, fill.Replace(e))
	}
	return args, env, of.launchFiles(hookBinary, runDir), nil
}

// offering is the kind with what a launch needs so that the agent is offered our tools; the
// kind itself where program is "".
func (k Kind) offering(program string) (Kind, error) {
	t := k.Hooks.Tools
	switch {
	case program == "":
		return k, nil
	case !t.has():
		return k, fmt.Errorf("cannot offer the tools of Custos to %s: it is not known how it takes them", k.Name)
	}
	fill := strings.NewReplacer("{program}", quoted(program))
	for _, a := range t.Args {
		k.Hooks.Args = append(slices.Clip(k.Hooks.Args), fill.Replace(a))
	}
	if t.Also != "" {
		also := fill.Replace(t.Also)
		if k.Hooks.Also != "" {
			also = k.Hooks.Also + ",\n  " + also
		}
		k.Hooks.Also = also
	}
	if len(t.Env) > 0 {
		k.Hooks.Env = nil
		for _, e := range t.Env {
			k.Hooks.Env = append(k.Hooks.Env, fill.Replace(e))
		}
	}
	return k, nil
}

// HookFiles are the files that installed hooks of a kind need beside the settings, by
// path.
func (k *Kinds) HookFiles(kind, hookBinary, runDir string) map[string][]byte {
	if of, _ := k.Get(kind); of.Hooks.Plugin != "" {
		return of.launchFiles(hookBinary, runDir)
	}
	return nil
}

// RootOnlyHooks is the file of LaunchHooks that a kind reads only where nobody but root
// can have written it; "" for a kind that minds no such thing.
func (k *Kinds) RootOnlyHooks(kind, runDir string) string {
	if of, _ := k.Get(kind); of.Hooks.RootOnly {
		return settingsFile(of, runDir)
	}
	return ""
}

func settingsFile(k Kind, runDir string) string { return path.Join(hookFiles(runDir), k.Name+".json") }

// filler puts paths into the arguments and variables of a launch.
func (k Kind) filler(hookBinary, runDir string) *strings.Replacer {
	return strings.NewReplacer("{file}", settingsFile(k, runDir), "{plugin}", pluginPath(k, runDir), "{address}", quoted(pluginAddress(k, runDir, "")))
}

// eventArgs are the arguments of one event, of a CLI that reads them there. JSON's
// strings are TOML's, too.
func (k Kind) eventArgs(e HookEventMark, hookBinary, runDir string) (args []string) {
	fill := strings.NewReplacer("{event}", e.Name, "{timeout}", fmt.Sprint(k.Hooks.Timeout), "{command}", quoted(hookCommand(k.Name, e.Name, hookBinary, runDir)))
	for _, a := range k.Hooks.EventArgs {
		args = append(args, fill.Replace(a))
	}
	return args
}

// launchFiles are the files that a launch needs.
func (k Kind) launchFiles(hookBinary, runDir string) map[string][]byte {
	uses := func(mark string) bool {
		return strings.Contains(strings.Join(append(slices.Clone(k.Hooks.Args), k.Hooks.Env...), "\n"), mark)
	}
	switch {
	case k.Hooks.Plugin != "":
		return map[string][]byte{pluginPath(k, runDir): pluginText(k, hookBinary, runDir)}
	case uses("{file}"):
		return map[string][]byte{settingsFile(k, runDir): hookSettings(k, hookBinary, runDir)}
	}
	return nil
}

// shellWord quotes a word for a POSIX shell, which runs every hook.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%=", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// hookCommand is the command of one event, for a shell.
func hookCommand(kind, event, hookBinary, runDir string) string {
	return strings.Join([]string{shellWord(hookBinary), kind, event, "--run", shellWord(runDir)}, " ")
}

// hookGroup is the JSON of one event's hook.
func hookGroup(k Kind, e HookEventMark, command string) string {
	matcher := ""
	if e.Matcher {
		matcher = `"matcher": "*", `
	}
	return fmt.Sprintf(`{%s"hooks": [{"type": "command", "command": %s, "timeout": %d}]}`, matcher, quoted(command), k.Hooks.Timeout)
}

// quoted is a JSON string; unlike strconv.Quote it never writes \x.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // strings always marshal
	}
	return string(b)
}

// hookSettings is a whole settings file with our hooks, and nothing else but what the
// kind needs besides.
func hookSettings(k Kind, hookBinary, runDir string) []byte {
	var lines []string
	for _, e := range k.Hooks.asked() {
		lines = append(lines, fmt.Sprintf("    %q: [%s]", e.Name, hookGroup(k, e, hookCommand(k.Name, e.Name, hookBinary, runDir))))
	}
	text := "{\n  \"hooks\": {\n" + strings.Join(lines, ",\n") + "\n  }"
	if keys := k.Hooks.StatusLine; len(keys) == 1 {
		text += ",\n  " + quoted(keys[0]) + ": " + statusLineValue(statusLineCommand(k.Name, hookBinary, runDir, ""))
	}
	if k.Hooks.Also != "" {
		text += ",\n  " + k.Hooks.Also
	}
	return []byte(text + "\n}\n")
}

// pluginName is the name of a kind's plugin file.
func pluginName(k Kind) string { return "custos-" + k.Hooks.Plugin }

func pluginPath(k Kind, runDir string) string { return path.Join(hookFiles(runDir), pluginName(k)) }

// pluginAddress is by what the CLI finds its plugin; dots stand before the file's name,
// and change nothing.
func pluginAddress(k Kind, runDir, dots string) string {
	folder := hookFiles(runDir)
	if k.Hooks.PluginURL {
		folder = (&url.URL{Scheme: "file", Path: folder}).String()
	}
	return folder + "/" + dots + pluginName(k)
}

// pluginHead is how an address of ours begins.
func pluginHead(k Kind) string {
	if k.Hooks.PluginURL {
		return "file://"
	}
	return "/"
}

// pluginText is the plugin, with the paths that it calls.
func pluginText(k Kind, hookBinary, runDir string) []byte {
	var text strings.Builder
	for _, name := range []string{"tell.js", k.Hooks.Plugin} {
		part, err := plugins.ReadFile("hooks/" + name)
		if err != nil {
			return nil // finishHooks has seen it
		}
		text.Write(part)
	}
	return []byte(strings.NewReplacer("__HOOK__", quoted(hookBinary), "__RUN__", quoted(runDir), "__KIND__", quoted(k.Name)).Replace(text.String()))
}
