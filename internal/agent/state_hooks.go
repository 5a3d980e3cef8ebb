package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// SourceHook is the agent itself, through its hooks.
const SourceHook = "hook"

// DefaultToolDeadline is how long a tool may run before silence counts against
// the agent: longer than the builds and test suites of most projects.
const DefaultToolDeadline = 30 * time.Minute

// Deadlines says how long each tool may take. The zero value gives every tool
// DefaultToolDeadline.
type Deadlines struct {
	Default time.Duration            // 0 is DefaultToolDeadline
	Tools   map[string]time.Duration // by name of the tool
}

// Of returns the deadline of a tool.
func (d Deadlines) Of(tool string) time.Duration {
	if t, ok := d.Tools[tool]; ok && t > 0 {
		return t
	}
	return cmp.Or(max(0, d.Default), DefaultToolDeadline)
}

// Reported is what the hooks of one instance amount to.
type Reported struct {
	State    fleet.AgentState // empty when they leave it open
	Says     string           // in plain words
	Since    fleet.Instant    // of the event that decided State
	Last     fleet.Instant    // of the newest event; zero when there was none
	Turn     fleet.Instant    // of the newest that tells of a turn; status lines, notices and reminders do not
	Tool     *fleet.ToolCall  // in flight; of several, the one that may go on for longest
	Context  fleet.Leaf[float64]
	Status   fleet.StatusReport // of the newest status line; zero when there was none
	Quota    []fleet.Quota      // of its plan, as was told last
	Until    fleet.Instant      // of a rate limit; zero when not told
	Answered fleet.Instant      // when the model was last seen to answer
	Failure  string             // what ended the last turn, when an error did
	Limited  fleet.Instant      // when the rate limit was last told of; zero when it was not
	Prompt   fleet.Instant      // of the newest prompt
	Turned   Turned             // the newest turn that is over
	Ended    fleet.Instant      // of the end of its session, as long as nothing was told of another; zero when it goes on
	Begun    fleet.Instant      // of its session, as long as nothing was told of a turn in it
	Session  string             // of the CLI
	Denied   *fleet.Denied      // what kept most of its calls from being made in the last hour; nil when nothing did
	Loop     Loop
}

// Gather folds hook events into what they amount to at now. Events of another
// instance than the given one are not heard; events without one are.
//
// A request (permission, question) is over when it is told that it was answered,
// when its tool ends, when the turn ends, or when a prompt or a session begins.
// Most CLIs report nothing when a person answers.
func Gather(events []fleet.HookEvent, instance string, now fleet.Instant, limits Deadlines) Reported {
	return gather("its hooks say", events, instance, now, limits)
}

// GatherWritten folds what a conversation tells into what it amounts to at now, as Gather
// does what hooks tell. What was written before a moment is of an earlier process; zero for
// all of it.
func GatherWritten(c fleet.Conversation, since time.Time, now fleet.Instant, limits Deadlines) Reported {
	var mine []fleet.HookEvent
	for _, e := range c.Events {
		if e.At.Wall.Before(since) {
			continue
		}
		e.At = now.Add(min(0, e.At.Wall.Sub(now.Wall)))
		if !e.Until.IsZero() {
			e.Until = now.Add(e.Until.Wall.Sub(now.Wall))
		}
		mine = append(mine, e)
	}
	told := gather("its transcript says", mine, "", now, limits)
	if !c.Answered.Before(since) && !c.Answered.IsZero() {
		told.Answered = now.Add(min(0, c.Answered.Sub(now.Wall)))
	}
	return told
}

// gather folds events; by is who says so.
func gather(by string, events []fleet.HookEvent, instance string, now fleet.Instant, limits Deadlines) Reported {
	h := gathering{by: by, tools: map[string]fleet.ToolCall{}}
	for _, e := range inOrder(events, instance) {
		h.hear(e)
	}
	h.told.Loop = loopOf(h.calls)
	h.told.Denied = h.deniedMost(now)
	h.told.Tool = h.inFlight(now, limits)
	if t := h.told.Until; h.told.State == fleet.StateRateLimited && !t.IsZero() && !now.Before(t) {
		h.told.State, h.told.Since = fleet.StateIdle, t
		h.told.Says, h.told.Until = by+" that a rate limit ended its turn; the limit has been reset since", fleet.Instant{}
	}
	return h.told
}

// inOrder returns the events of an instance by time, without changing the
// argument. What came at the same time stays in the order it came in. Events
// that are in order already, as they mostly are, are not copied.
func inOrder(events []fleet.HookEvent, instance string) []fleet.HookEvent {
	foreign := func(e fleet.HookEvent) bool { return e.Instance != "" && instance != "" && e.Instance != instance }
	if slices.ContainsFunc(events, foreign) {
		events = slices.DeleteFunc(slices.Clone(events), foreign)
	}
	for i := 1; i < len(events); i++ {
		if events[i].At.Before(events[i-1].At) {
			events = slices.Clone(events)
			slices.SortStableFunc(events, byTime)
			break
		}
	}
	return events
}

func byTime(a, b fleet.HookEvent) int {
	switch {
	case a.At.Before(b.At):
		return -1
	case b.At.Before(a.At):
		return 1
	}
	return 0
}

// gathering is the state of Hear after some of the events.
type gathering struct {
	by     string // who says so
	told   Reported
	tools  map[string]fleet.ToolCall // in flight, by callKey
	asks   request
	calls  []call // of this turn, as they began
	denied []fleet.HookEvent
	limit  fleet.Instant // reset of a limit that a status line told of
	// shorter: the conversation that was too long was made shorter, and there was no turn since.
	shorter bool
}

// request is what the agent waits for.
type request struct {
	on    bool
	tool  string // it is about; "" where that is not told
	bound bool   // to a call that had begun
	key   string // of that call
}

// callKey tells the calls of a turn apart. A CLI that gives them no ids is taken
// to run one of each tool at a time.
func callKey(e fleet.HookEvent) string {
	if e.CallID == "" {
		return "tool " + e.Tool
	}
	return e.CallID
}

func (h *gathering) hear(e fleet.HookEvent) {
	h.told.Last = e.At
	if e.Event != fleet.HookStatus && e.Event != fleet.HookNotice && !h.reminds(e) {
		h.told.Turn, h.told.Ended, h.told.Begun = e.At, fleet.Instant{}, fleet.Instant{}
	}
	if e.Context.IsKnown() {
		h.told.Context = e.Context
	}
	if e.Session != "" && e.Event != fleet.HookNotice { // a notice may be of a session that is not shown
		h.told.Session = e.Session
	}
	switch e.Event {
	case fleet.HookPrompt:
		h.over()
		h.told.Prompt = e.At
		h.say(e, fleet.StateWorking, h.by+" that a prompt was submitted")
	case fleet.HookToolBegin:
		h.begin(e)
	case fleet.HookToolEnd:
		h.end(e)
	case fleet.HookPermission, fleet.HookQuestion:
		h.ask(e)
	case fleet.HookAnswered:
		h.answered(e)
	case fleet.HookStop:
		if h.told.Turned.Ended.Before(h.told.Prompt) {
			h.told.Turned = Turned{Began: h.told.Prompt, Ended: e.At}
		}
		h.stop()
		h.say(e, fleet.StateIdle, h.by+" that its turn has ended")
	case fleet.HookRest:
		h.rest(e)
	case fleet.HookFailure:
		e.Until = h.resets(e)
		h.over()
		h.fail(e)
	case fleet.HookSessionStart, fleet.HookSessionEnd:
		h.session(e)
	case fleet.HookCompact:
		if e.Source == fleet.UsageTranscript { // hooks tell when it begins
			h.shortened(e)
		}
	case fleet.HookStatus:
		h.status(e)
	}
}

func (h *gathering) say(e fleet.HookEvent, s fleet.AgentState, says string) {
	if h.told.State != s || s == "" {
		h.told.Since = e.At
	}
	h.told.State, h.told.Says = s, says
}

// over ends what belonged to a turn.
func (h *gathering) over() {
	clear(h.tools)
	h.shorter = false
	h.asks, h.calls, h.told.Until, h.told.Limited, h.told.Failure = request{}, nil, fleet.Instant{}, fleet.Instant{}, ""
}

// stop ends a turn. One that only made the conversation shorter is a turn of its own to Codex:
// what ended the one before stays known.
func (h *gathering) stop() {
	failure, shorter := h.told.Failure, h.shorter
	if h.over(); shorter {
		h.told.Failure, h.shorter = failure, true
	}
}

// session begins anew. After a compaction a session goes on, in mid-turn. One that was begun at
// the prompt of a CLI that runs ("clear" of most, "new" of pi) leaves it free; one that begins
// with its CLI, or is chosen from a list, need not have drawn its prompt yet.
func (h *gathering) session(e fleet.HookEvent) {
	began := e.Event == fleet.HookSessionStart
	if began && e.Text == "compact" {
		h.shortened(e)
		return
	}
	if h.over(); began {
		h.told.Begun = e.At
	}
	if began && (e.Text == "clear" || e.Text == "new") {
		h.say(e, fleet.StateIdle, h.by+" that a new conversation has begun at its prompt")
		return
	}
	h.say(e, "", "")
	if !began {
		h.told.Ended = e.At
	}
}

// shortened: what was too long is so no more. What ended the turn stays known, so that the
// agent can be told to go on.
func (h *gathering) shortened(e fleet.HookEvent) {
	if h.told.State == fleet.StateContextHigh {
		h.shorter = true
		h.say(e, fleet.StateIdle, h.by+" that its conversation was made shorter")
	}
}

// status may tell when the limit is reset that ended the turn.
func (h *gathering) status(e fleet.HookEvent) {
	if e.Status != nil {
		h.told.Status = *e.Status
		if len(e.Status.Quota) > 0 {
			h.told.Quota = quotaAt(e.Status.Quota, e.At.Wall)
		}
	}
	if e.Until.IsZero() {
		return
	}
	e.Until = capped(e)
	h.limit = e.Until
	if h.told.State == fleet.StateRateLimited && h.told.Until.IsZero() {
		h.told.Until, h.told.Limited = e.Until, e.At
	}
}

// longestLimit is how long an account can be said to be at its limit: the longest
// window that a provider counts in is a week.
const longestLimit = 7 * 24 * time.Hour

// capped is when the limit that an event tells of is reset, as far as it is believed.
func capped(e fleet.HookEvent) fleet.Instant {
	if latest := e.At.Add(longestLimit); latest.Before(e.Until) {
		return latest
	}
	return e.Until
}

// begin notes a call. A CLI that asks before it begins has been answered when it
// begins what it asked for; a call that runs beside a request answers nothing.
func (h *gathering) begin(e fleet.HookEvent) {
	key := callKey(e)
	h.told.Answered = e.At // tools are begun by its answers
	if !h.isTold(e) {
		h.tools[key] = fleet.ToolCall{Name: e.Tool, CallID: e.CallID, Args: e.Args, Since: e.At}
		h.calls = append(h.calls, call{key: key, tool: e.Tool, args: e.Args, at: e.At})
	}
	if h.asks.on && !h.asks.bound && (h.asks.tool == "" || h.asks.tool == e.Tool) {
		h.asks = request{}
	}
	if !h.asks.on {
		h.say(e, fleet.StateWorking, h.by+" that it began "+toolWords(e.Tool))
	}
	if e.DeniedBy() != "" {
		h.deny(e)
	}
}

// isTold says whether the call that an event begins was told of before in this turn, as by a
// second hook. Of one without an id that cannot be told.
func (h *gathering) isTold(e fleet.HookEvent) bool {
	return e.CallID != "" && slices.ContainsFunc(h.calls, func(c call) bool { return c.key == e.CallID })
}

// end notes the end of a call. One that a person broke off ends the turn.
func (h *gathering) end(e fleet.HookEvent) {
	key := callKey(e)
	delete(h.tools, key)
	for i := len(h.calls) - 1; i >= 0; i-- {
		if c := &h.calls[i]; !c.ended && c.key == key {
			c.ended = true
			break
		}
	}
	if h.asks.on && !h.asks.answeredBy(e) {
		return
	}
	h.asks = request{}
	if e.Text == "interrupted" {
		h.over()
		h.say(e, fleet.StateIdle, h.by+" that a person broke off "+toolWords(e.Tool))
		return
	}
	h.say(e, fleet.StateWorking, h.by+" that "+toolWords(e.Tool)+" ended")
}

func (r request) answeredBy(e fleet.HookEvent) bool {
	if r.bound {
		return r.key == callKey(e)
	}
	return r.tool == "" || r.tool == e.Tool
}

// reminds says whether an event is a request that names nothing, and tells nothing new.
func (h *gathering) reminds(e fleet.HookEvent) bool {
	asks := e.Event == fleet.HookPermission || e.Event == fleet.HookQuestion
	return asks && e.Tool == "" && e.CallID == "" && (h.asks.on || h.told.State == fleet.StateIdle)
}

// ask begins a request. One that names no call is about the newest open call of
// its tool. One that names nothing reminds of a request that is there; and after
// the turn it is a reminder that a person may go on.
func (h *gathering) ask(e fleet.HookEvent) {
	if h.reminds(e) {
		return
	}
	h.asks = request{on: true, tool: e.Tool, bound: e.CallID != "", key: e.CallID}
	for i := len(h.calls) - 1; i >= 0 && !h.asks.bound; i-- {
		if c := h.calls[i]; !c.ended && (e.Tool == "" || c.tool == e.Tool) {
			h.asks.bound, h.asks.key = true, c.key
		}
	}
	says := h.by + " that it waits for an answer"
	if e.Event == fleet.HookPermission {
		says = h.by + " that it asks for permission to use " + toolWords(e.Tool)
	}
	h.told.State = "" // each request is one of its own
	h.say(e, fleet.StateWaiting, says)
}

// answered ends the request that it is about. What it asked for goes on, or is
// over; a refusal that ends the turn is told by its own event.
func (h *gathering) answered(e fleet.HookEvent) {
	if !h.asks.on || e.CallID != "" && h.asks.bound && h.asks.key != e.CallID {
		return
	}
	h.asks = request{}
	h.say(e, fleet.StateWorking, "its hooks say that what it asked was answered")
}

// rest: the prompt is free. That ends a turn that a person broke off or refused, which
// nothing else tells; a failure that ended it stays what it is.
func (h *gathering) rest(e fleet.HookEvent) {
	if goesOn := h.told.State == fleet.StateWorking || h.told.State == fleet.StateWaiting; h.told.Failure != "" && !goesOn {
		return
	}
	h.stop()
	h.say(e, fleet.StateIdle, "its hooks say that its prompt is free")
}

// resets is when the limit that ended a turn is reset: by what says so, or by what was told before, of this turn or for
// all. That a turn has ended at a limit is told more than once, and not each time until when.
func (h *gathering) resets(e fleet.HookEvent) fleet.Instant {
	switch {
	case !e.Until.IsZero():
		return capped(e)
	case !h.told.Until.IsZero() && e.At.Before(h.told.Until):
		return h.told.Until
	case e.At.Before(h.limit):
		return h.limit
	}
	return fleet.Instant{}
}

// fail reads the error that ended a turn, by the names that ParseHook gives
// them. Credit that ran out is a lost login: a person has to do something about
// the account.
func (h *gathering) fail(e fleet.HookEvent) {
	name := fleet.Line(e.Text, 60)
	h.told.Failure = failureWord(name)
	switch {
	case strings.HasPrefix(e.Text, "rate_limit"):
		h.told.Until, h.told.Limited = e.Until, e.At
		h.say(e, fleet.StateRateLimited, h.by+" that a rate limit ended its turn")
	case strings.HasPrefix(e.Text, "authentication"), strings.HasPrefix(e.Text, "billing"):
		h.say(e, fleet.StateAuthLost, h.by+" that its turn was refused: "+name)
	case e.Text == "context":
		h.say(e, fleet.StateContextHigh, h.by+" that its context was too full to go on")
	default:
		h.say(e, fleet.StateIdle, h.by+" that its turn was ended by: "+cmp.Or(name, "an error"))
	}
}

// failureWord is the name of a failure, as CLIs vary it: overloaded_error is a server's.
func failureWord(name string) string {
	return cmp.Or(conversation.FailureOf(0, name), name, "error")
}

// inFlight returns the tool that has most of its time left.
func (h *gathering) inFlight(now fleet.Instant, limits Deadlines) *fleet.ToolCall {
	var best *fleet.ToolCall
	for _, t := range h.tools {
		t.Age, t.Deadline = fleet.Duration(max(0, now.Since(t.Since))), fleet.Duration(limits.Of(t.Name))
		if best == nil || t.Deadline-t.Age > best.Deadline-best.Age || t.Deadline-t.Age == best.Deadline-best.Age && t.CallID < best.CallID {
			best = &t
		}
	}
	return best
}

func toolWords(name string) string {
	if name == "" {
		return "a tool"
	}
	return fmt.Sprintf("tool %s", name)
}

// quotaAt is what was told of a plan at a moment.
func quotaAt(all []fleet.Quota, at time.Time) []fleet.Quota {
	all = slices.Clone(all)
	for i := range all {
		all[i].At = at
	}
	return all
}
