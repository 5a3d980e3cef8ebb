package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// promptFile is what a prompt of a run names.
var promptFile = regexp.MustCompile(`\S+/prompt\.md`)

// script is the part of its script that an agent plays at this prompt, by its run or its name:
// the first at the first prompt, whoever was started for it, and so on. What it
// was told to read it reads first.
func (a *agent) script(prompt string) (commands []string, ok bool) {
	run, name := os.Getenv("CUSTOS_RUN_ID"), os.Getenv("CUSTOS_FORMULA")
	if run == "" {
		name, _, _ = strings.Cut(os.Getenv("CUSTOS_AGENT"), ":")
		run = name
	}
	if a.home == "" || run == "" || name == "" || strings.ContainsAny(run+name, "/\\") {
		return nil, false
	}
	text, err := os.ReadFile(filepath.Join(a.home, ".fakeagent", name+".script"))
	if err != nil {
		return nil, false
	}
	if file := promptFile.FindString(prompt); file != "" {
		read, err := os.ReadFile(file)
		if err != nil {
			read = []byte("cannot read: " + err.Error())
		}
		a.note("read", string(read))
	}
	counter := filepath.Join(a.home, ".fakeagent", run+".turns")
	was, _ := os.ReadFile(counter) // none at the first prompt
	turn := number(string(was), 0)
	_ = os.WriteFile(counter, []byte(strconv.Itoa(turn+1)), 0o644)
	if parts := strings.Split(string(text), "\n---\n"); turn < len(parts) {
		commands = strings.Split(parts[turn], "\n")
	}
	return commands, true
}

// report tells Custos how a step of a run ended, as its prompt says: done ID, fail
// ID, and of another run done RUN/ID. What came of it is noted.
func (a *agent) report(how, what string) {
	run, step := os.Getenv("CUSTOS_RUN_ID"), what
	if other, id, named := strings.Cut(what, "/"); named {
		run, step = other, id
	}
	out, err := exec.Command("custos", "formula", "step", how, run, step, "--note", "as the script has it").CombinedOutput()
	word := "reported"
	if err != nil {
		word = "refused"
	}
	a.note(word, how+" "+what+": "+strings.TrimSpace(string(out)))
}

// phase writes the phase file, as the protocol has it.
func (a *agent) phase(word, reason string) {
	text := "PHASE:" + word + "\n"
	if reason != "" {
		text += "Reason: " + reason + "\n"
	}
	a.note("phase", word+" "+reason)
	if err := os.WriteFile(os.Getenv("PHASE_FILE"), []byte(text), 0o644); err != nil {
		a.say("● " + err.Error())
	}
}
