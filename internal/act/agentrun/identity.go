package agentrun

import (
	"fmt"
	"net/mail"
	"regexp"
	"strings"

	"custos/internal/fleet"
)

// placeholder is what stands in git_author for something of the agent.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// checkAuthor refuses a git_author that git could not write down: it is "NAME <MAIL>", in which
// {name}, {role} and {host} stand for those of the agent.
func checkAuthor(template string) error {
	if template == "" {
		return nil
	}
	for _, p := range placeholder.FindAllString(template, -1) {
		if p != "{name}" && p != "{role}" && p != "{host}" {
			return fmt.Errorf("git_author: there is no %s: want {name}, {role} or {host}", fleet.Line(p, 40))
		}
	}
	if _, err := mail.ParseAddress(filled(template, "name", "role", "host")); err != nil || strings.ContainsFunc(template, isControl) {
		return fmt.Errorf("git_author: want \"NAME <MAIL>\", as in \"{name} <{name}@{host}.custos>\", not %q", fleet.Line(template, 80))
	}
	return nil
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

func filled(template, name, role, host string) string {
	return strings.NewReplacer("{name}", name, "{role}", role, "{host}", host).Replace(template)
}

// identity are the variables by which git knows an agent as author and committer: none without
// a git_author. git leaves out of them what may not stand there.
func (l *Launcher) identity(r fleet.Registration) []string {
	name, address, ok := strings.Cut(filled(l.o.GitAuthor, r.Name, r.Role, l.o.Host), "<")
	if !ok {
		return nil
	}
	name, address = strings.TrimSpace(name), strings.TrimSuffix(strings.TrimSpace(address), ">")
	return []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + address, "GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + address}
}
