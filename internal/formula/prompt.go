package formula

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// PromptContext is what the prompt of an agent says beyond its formula. What is
// empty is left out.
type PromptContext struct {
	Run     string // number or name of the run, for `custos formula step`
	Project string

	Steps []string // ids to be done in this session; none: all prose
	Done  []Ended  // what was already done, of these and of the others

	Files      []File // context, in order
	Facts      string // what was seen beforehand (the preflight); data
	Structure  string // the structural section; data
	Replies    string // what people answered; data
	ForgeURL   string // the forge's API; its token is never part of a prompt
	Values     []string
	Worktree   string
	Repo       string
	Branch     string // primary branch
	PhaseFile  string
	Scratch    string // file; where the agent keeps what must survive compaction
	ScratchWas string // what it held when the session began
	Recovered  string // why a former session of this run ended; "" for the first
}

// File is a context file. Missing says why there is no text.
type File struct {
	Name    string
	Text    string
	Missing string
}

// Ended is what became of a step.
type Ended struct {
	ID    string
	State string
	Note  string
}

// Prompt is what an agent is told that works on the prose of a rendered
// formula: what is known, the steps in an order that respects their needs, how
// to report each, and how to end. Terminal escapes never pass.
func Prompt(f Formula, c PromptContext) string {
	p := &prompt{f: f, c: c}
	p.head()
	p.recovered()
	p.context()
	p.steps()
	p.footer()
	return fleet.Text(p.b.String())
}

// Compact is what an agent is told again after its context was compacted: which
// steps there are and how far it was, without their text, and the protocol.
func Compact(f Formula, c PromptContext) string {
	p := &prompt{f: f, c: c}
	p.section("Formula "+f.Name, "You are working on the steps of this formula. Your context was compacted; this is what must not be lost.")
	p.overview()
	p.footer()
	return fleet.Text(p.b.String())
}

type prompt struct {
	f Formula
	c PromptContext
	b strings.Builder
}

func (p *prompt) section(title, text string) {
	if strings.TrimSpace(text) != "" {
		fmt.Fprintf(&p.b, "## %s\n\n%s\n\n", title, strings.TrimSpace(text))
	}
}

// data is what others wrote: fenced, so that it is not taken for instructions.
func (p *prompt) data(title, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	fence := strings.Repeat("`", longestFence(text)+1)
	p.section(title, fence+"text\n"+strings.TrimRight(text, "\n")+"\n"+fence)
}

// longestFence counts the longest row of backticks, at least two.
func longestFence(text string) int {
	longest, row := 2, 0
	for _, r := range text {
		if r == '`' {
			row++
			longest = max(longest, row)
		} else {
			row = 0
		}
	}
	return longest
}

func (p *prompt) head() {
	title := "Formula " + p.f.Name
	if p.c.Project != "" {
		title += ", project " + p.c.Project
	}
	p.section(title, p.f.Description)
}

func (p *prompt) recovered() {
	if p.c.Recovered == "" {
		return
	}
	p.section("You go on with a run that was interrupted",
		"The former session ended: "+p.c.Recovered+". What it did is listed with the steps. Do not repeat what is done; look at the state of a step that was under way before you go on with it.")
}

func (p *prompt) context() {
	for _, f := range p.c.Files {
		if f.Missing != "" {
			p.section("Context: "+f.Name, "(missing: "+f.Missing+")")
		} else {
			p.data("Context: "+f.Name, f.Text)
		}
	}
	p.data("What was seen beforehand", p.c.Facts)
	p.data("Structural analysis", p.c.Structure)
	p.data("Replies of people", p.c.Replies)
	p.data("Previous context (from the scratch file)", p.c.ScratchWas)
}

// mine are the steps of this session, in an order that respects their needs.
func (p *prompt) mine() (out []Step) {
	for _, wave := range Waves(p.f) {
		for _, s := range wave {
			if s.Prose() && (len(p.c.Steps) == 0 || slices.Contains(p.c.Steps, s.ID)) {
				out = append(out, s)
			}
		}
	}
	return out
}

func (p *prompt) steps() {
	p.overview()
	for _, s := range p.mine() {
		if p.state(s.ID) == "done" || p.state(s.ID) == "skipped" {
			continue
		}
		p.section(fmt.Sprintf("Step %s: %s", s.ID, fleet.Line(s.Title, 200)), p.step(s))
	}
}

func (p *prompt) step(s Step) string {
	text := s.Description
	if s.Acceptance != "" {
		text = paragraphs(text, "It is done when: "+s.Acceptance)
	}
	if s.Notes != "" {
		text = paragraphs(text, s.Notes)
	}
	return text
}

// overview lists the steps, what each needs, and how far it is.
func (p *prompt) overview() {
	var b strings.Builder
	mine := p.mine()
	for i, s := range mine {
		fmt.Fprintf(&b, "%d. %s", i+1, s.ID)
		if len(s.Needs) > 0 {
			fmt.Fprintf(&b, " (after %s)", strings.Join(s.Needs, ", "))
		}
		if state := p.state(s.ID); state != "" {
			fmt.Fprintf(&b, ": %s", state)
		}
		b.WriteString(p.note(s.ID) + "\n")
	}
	b.WriteString(p.others(mine))
	p.section("Steps", "Do them one after the other, in this order:\n\n"+b.String()+p.reporting())
}

// others are the steps that others do, when one of ours needs them.
func (p *prompt) others(mine []Step) string {
	ids := idsOf(mine)
	var b strings.Builder
	for _, wave := range Waves(p.f) {
		for _, s := range wave {
			needed := slices.ContainsFunc(mine, func(m Step) bool { return slices.Contains(m.Needs, s.ID) })
			if !needed || slices.Contains(ids, s.ID) {
				continue
			}
			fmt.Fprintf(&b, "\nStep %s is not yours, and is %s.", s.ID, p.awaited(s.ID))
		}
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// awaited says how far a step is that another does.
func (p *prompt) awaited(id string) string {
	switch state := p.state(id); state {
	case "done", "skipped":
		return state + p.note(id)
	case "":
		return "not yet done: wait for it before you do what needs it"
	default:
		return state + p.note(id) + ": wait for it before you do what needs it"
	}
}

func (p *prompt) reporting() string {
	if p.c.Run == "" {
		return ""
	}
	return fmt.Sprintf("\nReport how each step ended, as soon as it did:\n\n    custos formula step done %s STEP --note 'what came of it'\n    custos formula step fail %s STEP --note 'why'\n\n`custos formula show %s` shows how far the run is.", p.c.Run, p.c.Run, p.c.Run)
}

func (p *prompt) told(id string) Ended {
	for _, t := range p.c.Done {
		if t.ID == id {
			return t
		}
	}
	return Ended{}
}

func (p *prompt) state(id string) string { return p.told(id).State }

func (p *prompt) note(id string) string {
	if n := p.told(id).Note; n != "" {
		return " (" + fleet.Line(n, 500) + ")"
	}
	return ""
}

func (p *prompt) footer() {
	p.forge()
	p.environment()
	p.scratch()
	p.phases()
}

func (p *prompt) forge() {
	if p.c.ForgeURL == "" {
		return
	}
	u := p.c.ForgeURL
	p.section("Forge API", fmt.Sprintf(`Base URL: %s
Authorization: -H "Authorization: token ${FORGE_TOKEN}"
Read an issue: curl -sf -H "Authorization: token ${FORGE_TOKEN}" '%s/issues/NUMBER' | jq .body
Create an issue: curl -sf -X POST -H "Authorization: token ${FORGE_TOKEN}" -H 'Content-Type: application/json' '%s/issues' -d '{"title":"…","body":"…","labels":[LABEL_ID]}'
List labels: curl -sf -H "Authorization: token ${FORGE_TOKEN}" '%s/labels'
Never print the token: always write ${FORGE_TOKEN}.`, u, u, u, u))
}

func (p *prompt) environment() {
	var lines []string
	for _, v := range [][2]string{{"PROJECT_REPO_ROOT", p.c.Repo}, {"PRIMARY_BRANCH", p.c.Branch}, {"PHASE_FILE", p.c.PhaseFile}} {
		if v[1] != "" {
			lines = append(lines, v[0]+"="+v[1])
		}
	}
	if p.c.Worktree != "" {
		lines = append(lines, "You work in "+p.c.Worktree+", a worktree of this run alone.")
	}
	p.section("Environment", strings.Join(append(lines, p.c.Values...), "\n"))
}

func (p *prompt) scratch() {
	if p.c.Scratch == "" {
		return
	}
	p.section("Scratch file", fmt.Sprintf(`Every 10 to 15 tool calls, write what you found out, what you decided and why, and what remains to be done to %s.
Its first 8 KiB are given to you when your context was compacted or your session began anew. It is removed after the run: nothing that must last belongs there.`, p.c.Scratch))
}

func (p *prompt) phases() {
	if p.c.PhaseFile == "" {
		return
	}
	file := shellQuote(p.c.PhaseFile)
	p.section("Phase protocol (required)", fmt.Sprintf(`Your session ends by the first line of the phase file, and not before it is written.
When all steps are done:

    echo 'PHASE:done' > %s

When you cannot go on:

    printf 'PHASE:failed\nReason: %%s\n' 'what went wrong' > %s

When a person must decide:

    printf 'PHASE:escalate\nReason: %%s\n' 'what is asked' > %s

PHASE:merged also ends it; PHASE:awaiting_ci and PHASE:awaiting_review say that you wait, and do not.`, file, file, file))
}

// shellQuote makes one word of a path, for a line an agent will copy.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
