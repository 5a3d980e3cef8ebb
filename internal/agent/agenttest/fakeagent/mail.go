package main

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
)

// context takes what a hook printed for the conversation, as the original does.
func (a *agent) context(printed []byte) {
	var out struct {
		Hook struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if json.Unmarshal(printed, &out) != nil || out.Hook.Context == "" {
		return
	}
	a.note("context", out.Hook.Context)
	a.readMail(out.Hook.Context)
}

// listed is one mail of those that an agent is told of.
var listed = regexp.MustCompile(`(?m)^- (m[0-9]+) \(`)

// readMail reads each mail that a text tells of, once the agent was told to.
func (a *agent) readMail(text string) {
	if !a.readsMail {
		return
	}
	for _, m := range listed.FindAllStringSubmatch(text, -1) {
		out, err := exec.Command("custos", "mail", "read", m[1]).CombinedOutput()
		word := "mail"
		if err != nil {
			word = "refused"
		}
		a.note(word, m[1]+": "+strings.TrimSpace(string(out)))
	}
}
