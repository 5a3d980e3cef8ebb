package setup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Receiver is where people are told.
type Receiver struct {
	Type      string `json:"type"` // matrix, telegram or shoutrrr
	Server    string `json:"server,omitempty"`
	Room      string `json:"room,omitempty"`
	Chat      string `json:"chat,omitempty"`
	TokenFile string `json:"token_file"` // of shoutrrr, its URL
}

// Choice is what a person chose.
type Choice struct {
	Places   []Place
	Mode     string // empty or observe: the default
	Receiver *Receiver
}

// Config is the custos.toml of a choice: what differs from the defaults, each with a comment.
// It is empty where nothing does.
func Config(c Choice, home string) string {
	var b strings.Builder
	if c.Mode != "" && c.Mode != "observe" {
		fmt.Fprintf(&b, "\n# How far Custos may go by itself: observe (look and say; the default), ask (act when you\n# approve), auto (act).\nmode = %s\n", quoted(c.Mode))
	}
	repos, folders := yours(c.Places, home)
	if len(repos) > 0 {
		fmt.Fprintf(&b, "\n[git]\n# Your repositories. What is not named is only looked at; what is, Custos may mend when you\n# say so (custos patrol --apply, custos approve), and by itself in the modes that allow it.\nrepos = %s\n", list(repos))
	}
	if len(folders) > 0 {
		fmt.Fprintf(&b, "\n[agents]\n# Agents that work in these folders are yours, although you start them by hand.\nadopt = %s\n", list(folders))
	}
	if r := c.Receiver; r != nil {
		b.WriteString("\n[notifier.me]\n# Where you are told of alerts from P2 on. Try it: custos tell --try me\n")
		for _, k := range [][2]string{{"type", r.Type}, {"server", r.Server}, {"room", r.Room}, {"chat", r.Chat}, {"token_file", short(r.TokenFile, home)}} {
			if k[1] != "" {
				fmt.Fprintf(&b, "%s = %s\n", k[0], quoted(k[1]))
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "# Written by custos setup: what differs from the defaults. All keys: custos help config.md\n" +
		"# Check it with: custos config check. Take it back with: custos setup --undo\n" + b.String()
}

// yours are the repositories and the folders of agents of places, as custos.toml names them.
func yours(places []Place, home string) (repos, folders []string) {
	for _, p := range places {
		if p.Repository {
			repos = append(repos, short(p.Path, home))
		}
		for _, f := range append([]string{p.Path}, p.Elsewhere...) {
			folders = append(folders, short(f, home))
			if p.Repository {
				folders = append(folders, short(f, home)+"/*")
			}
		}
	}
	slices.Sort(repos)
	slices.Sort(folders)
	return slices.Compact(repos), slices.Compact(folders)
}

// short names a path below the home by "~".
func short(file, home string) string {
	if rest, ok := strings.CutPrefix(file, home); ok && home != "" && home != "/" && (rest == "" || rest[0] == '/') {
		return "~" + rest
	}
	return file
}

func list(all []string) string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = quoted(s)
	}
	if len(out) == 1 {
		return "[" + out[0] + "]"
	}
	return "[\n  " + strings.Join(out, ",\n  ") + ",\n]"
}

// quoted is a text of TOML: what Go escapes beyond that, as bytes, TOML cannot say.
func quoted(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return strconv.QuoteToASCII(s)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// Ntfy is the URL, as shoutrrr reads it, of a topic on a server of ntfy.
func Ntfy(server, topic string) (string, error) {
	host := strings.TrimSuffix(server, "/")
	scheme := "https"
	if rest, ok := strings.CutPrefix(host, "http://"); ok {
		host, scheme = rest, "http"
	}
	host = strings.TrimPrefix(host, "https://")
	if host == "" || strings.ContainsAny(host, "/?#@ ") {
		return "", fmt.Errorf("cannot tell by ntfy: want a server like https://ntfy.sh, not %q", server)
	}
	if topic == "" || strings.ContainsFunc(topic, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return "", fmt.Errorf("cannot tell by ntfy: want a topic of letters, digits, - and _, not %q", topic)
	}
	return fmt.Sprintf("ntfy://%s/%s?scheme=%s", host, topic, scheme), nil
}

// Completion is where a shell looks for the completion of a command.
type Completion struct {
	Shell string // bash, zsh or fish
	File  string // that is written; for zsh, to whose end Line is added
	Line  string // of zsh only
}

// CompletionOf says where the completion of a shell belongs; nothing for one that is not known.
// dataHome and configHome are XDG's folders, zdotdir that of zsh.
func CompletionOf(shell, dataHome, configHome, zdotdir string) (Completion, bool) {
	switch name := shell[strings.LastIndexByte(shell, '/')+1:]; name {
	case "bash":
		return Completion{Shell: name, File: dataHome + "/bash-completion/completions/custos"}, true
	case "fish":
		return Completion{Shell: name, File: configHome + "/fish/completions/custos.fish"}, true
	case "zsh":
		return Completion{Shell: name, File: zdotdir + "/.zshrc", Line: "(( $+functions[compdef] )) && source <(custos completion zsh) # by custos setup\n"}, true
	}
	return Completion{}, false
}
