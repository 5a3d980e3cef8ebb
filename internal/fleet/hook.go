package fleet

import (
	"fmt"
	"strings"
)

// HookEvent is what an agent CLI reported of itself through a hook, normalised over
// the kinds.
type HookEvent struct {
	ID       string        `json:"id"` // deduplicates: the same event may arrive by wire and by spool
	At       Instant       `json:"at"` // when the hook ran
	Agent    string        `json:"agent,omitempty"`
	Instance string        `json:"instance,omitempty"` // the marker; empty for an agent that is not ours
	Process  ProcessID     `json:"process,omitzero"`   // the agent's process, as the hook's ancestry shows it
	Kind     string        `json:"kind"`
	Event    HookName      `json:"event"`
	Session  string        `json:"session,omitempty"`
	Tool     string        `json:"tool,omitempty"`
	CallID   string        `json:"call_id,omitempty"` // pairs the begin and the end of a tool call
	Args     string        `json:"args,omitempty"`    // filtered, redacted, about 200 bytes; of a failure in a transcript: what the CLI said
	Text     string        `json:"text,omitempty"`    // of a prompt: its hash and first words; of an error: its name; of a call that was not made: what denied it
	Context  Leaf[float64] `json:"context"`           // context used, percent
	Until    Instant       `json:"until,omitzero"`    // of a rate limit: when it resets
	Source   UsageSource   `json:"source,omitempty"`  // what it was seen by; "" for a hook
	Status   *StatusReport `json:"status,omitempty"`  // of a status line
}

// StatusReport is what a CLI gives to the command of its status line, besides how full its
// context is and which limit is reached. What it does not give is unknown.
type StatusReport struct {
	Model      string      `json:"model,omitempty"`
	Version    string      `json:"version,omitempty"`    // of the CLI
	Transcript string      `json:"transcript,omitempty"` // the file in which it keeps the conversation
	Used       Leaf[int64] `json:"used"`                 // tokens of its context that are used
	Window     Leaf[int64] `json:"window"`               // tokens that its context holds
	MicroUSD   Leaf[int64] `json:"micro_usd"`            // what the session cost so far, in millionths of a dollar
	Quota      []Quota     `json:"quota,omitempty"`      // of its plan's windows, those that it tells of
}

// HookName is the normalised name of a hook event.
type HookName string

// The hook events, over all kinds.
const (
	HookSessionStart HookName = "session-start"
	HookSessionEnd   HookName = "session-end"
	HookPrompt       HookName = "prompt" // a prompt was submitted
	HookToolBegin    HookName = "tool-begin"
	HookToolEnd      HookName = "tool-end"
	HookPermission   HookName = "permission" // it asks whether it may
	HookQuestion     HookName = "question"   // it waits for an answer
	HookAnswered     HookName = "answered"   // what it asked was answered, or taken back
	HookStop         HookName = "stop"       // the turn ended
	HookRest         HookName = "rest"       // its prompt is free, however the turn ended
	HookFailure      HookName = "failure"    // the turn ended by an error: rate_limit, authentication, …
	HookCompact      HookName = "compact"    // the context is about to be compacted
	HookNotice       HookName = "notice"     // anything else it says
	HookStatus       HookName = "status"     // a status line
	HookBeat         HookName = "beat"       // no hook: the agent said that it is at work (custos heartbeat)
)

// denied is how the text of a call begins that a policy kept from being made.
const denied = "denied by "

// Deny notes that a rule of a policy kept the call that the event begins from being made.
func (e *HookEvent) Deny(rule string) {
	if e.Event == HookToolBegin && rule != "" {
		e.Text = denied + Line(rule, 64)
	}
}

// DeniedBy is the rule that kept the call from being made; "" where it was made.
func (e HookEvent) DeniedBy() string {
	if rule, ok := strings.CutPrefix(e.Text, denied); ok && e.Event == HookToolBegin {
		return rule
	}
	return ""
}

// Denied is a rule of a policy by which calls of an agent were denied in the last hour: of
// several, the one that denied most.
type Denied struct {
	Rule  string  `json:"rule" help:"the rule of the policy"`
	Times int     `json:"times" help:"how many calls it denied in the last hour"`
	Tool  string  `json:"tool,omitempty" help:"the tool of the newest of them"`
	Last  Instant `json:"last" help:"when it denied the newest of them"`
}

// Key names what the event is about: the instance of an agent of ours, else its
// process, else the CLI's session; empty when none of them is known.
func (e HookEvent) Key() string {
	switch {
	case e.Instance != "":
		return e.Instance
	case e.Process.PID != 0:
		return fmt.Sprintf("pid/%s/%d/%d", e.Process.Boot, e.Process.PID, e.Process.Start)
	case e.Session != "":
		return "session/" + e.Kind + "/" + e.Session
	}
	return ""
}
