package api

import (
	"regexp"
	"slices"
	"strings"
)

// Elsewhere are the commands that may speak of another machine, by --host: all that they do is asked of the Custos there.
// Those that are true name something by their first argument, and take it as HOST/NAME too.
func Elsewhere() map[string]bool {
	return map[string]bool{
		"custos": false, "custos top": false, "custos ps": false, "custos status": false, "custos alerts": false, "custos plan": false, "custos preflight": false,
		"custos feed": false, "custos errors": false, "custos report": false, "custos cost": false, "custos budget": false, "custos budget list": false,
		"custos orders": false, "custos orders show": false, "custos orders cancel": false, "custos show": true, "custos peek": true, "custos logs": true, "custos wait": true, "custos why": true, "custos trace": true,
		"custos failures": true, "custos nudge": true, "custos answer": true, "custos interrupt": true, "custos stop": true, "custos recover": true,
		"custos spawn": true, "custos checkpoint": true, "custos ack": true, "custos approve": true, "custos deny": true, "custos attach": true,
	}
}

// anywhere are the commands that are as good here, whatever machine they are proposed for.
func anywhere() []string {
	return []string{"custos help", "custos runbook", "custos up", "custos doctor", "custos hub status"}
}

// GoesElsewhere says whether the command that a text begins with may be given --host.
func GoesElsewhere(text string) bool {
	all := names(text)
	for _, name := range all {
		if _, is := Elsewhere()[name]; is {
			return name == all[0] || !hasMore(name)
		}
	}
	return false
}

// hasMore says whether a command has others beneath it, so that what follows it is no argument.
func hasMore(name string) bool {
	for other := range Elsewhere() {
		if strings.HasPrefix(other, name+" ") {
			return true
		}
	}
	return false
}

func goesAnywhere(text string) bool {
	return slices.ContainsFunc(names(text), func(name string) bool { return slices.Contains(anywhere(), name) })
}

// named is a command, as far as it may be its name.
var named = regexp.MustCompile(`^custos(?: [a-z][a-z-]*)*`)

// names are what the name of a command may be. That it is custos alone is so only where nothing follows but flags.
func names(text string) (out []string) {
	words := strings.Fields(named.FindString(text))
	for n := min(3, len(words)); n > 1; n-- {
		out = append(out, strings.Join(words[:n], " "))
	}
	if len(words) == 1 {
		out = append(out, words[0])
	}
	return out
}

// word is one of a command that another machine proposes: nothing that a shell reads otherwise,
// nor that names a machine or a configuration.
var word = regexp.MustCompile(`^[\pL\pN_./@:=,+-]+$`)

// Proposed is a command that another machine proposes, where it is one of Custos that a shell
// reads as it stands, names no machine, and can be typed here; "custos status" instead of any other.
func Proposed(command string) string {
	words := strings.Fields(command)
	isOurs := len(words) > 1 && words[0] == "custos" && !slices.ContainsFunc(words[1:], func(w string) bool {
		return !word.MatchString(w) || strings.HasPrefix(w, "--host") || strings.HasPrefix(w, "--config")
	})
	if !isOurs || strings.HasPrefix(words[1], "-") || !GoesElsewhere(command) && !goesAnywhere(command) {
		words = []string{"custos", "status"}
	}
	return strings.Join(words, " ")
}

// CommandOn is a command that another machine proposes, as it is to be typed here: it is one
// of Custos, and goes to that very machine where it can. Instead of any other it is the one that looks there.
func CommandOn(host, command string) string {
	proposed := Proposed(command)
	if !GoesElsewhere(proposed) {
		return proposed
	}
	return "custos --host " + host + strings.TrimPrefix(proposed, "custos")
}
