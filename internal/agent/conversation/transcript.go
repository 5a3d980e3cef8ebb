package conversation

import (
	"cmp"
	"strings"
	"time"

	"custos/internal/fleet"
)

// mostEvents is how many events of a conversation are kept: more than a turn with its
// tools in parallel, and enough to see that one call is made again and again.
const mostEvents = 64

// Transcript is what the entries of one file amount to so far.
type Transcript struct {
	language string
	conv     fleet.Conversation
	model    string    // that is asked, where responses do not name the one that answered
	named    bool      // responses have names, so that running sums of tokens tell nothing new
	side     bool      // of a sub-agent
	main     bool      // an entry was of no sub-agent
	limit    time.Time // when a limit is reset that the file told of apart
	first    bool      // it was read from its beginning
	own      string    // the conversation, where the file's first line says it for good
	copied   string    // the one whose first line came last: that of which this one is a fork
}

// NewTranscript begins a file. Whole says that it is read from its beginning: else how many
// turns it has is at least as many as are seen, and one.
func NewTranscript(kind, language, path string, whole bool) *Transcript {
	return &Transcript{language: language, first: whole, conv: fleet.Conversation{Kind: kind, Path: path,
		Used: fleet.Unknown[int64]("not told"), Window: fleet.Unknown[int64]("not told")}}
}

// Side says whether the file is that of a sub-agent.
func (t *Transcript) Side() bool { return t.side && !t.main }

// Conversation is what the file says now. Its events are a copy.
func (t *Transcript) Conversation() fleet.Conversation {
	c := t.conv
	c.Events = append([]fleet.HookEvent(nil), t.conv.Events...)
	if f := t.conv.Failure; f != nil {
		failed := *f
		c.Failure = &failed
	}
	if !t.first {
		c.Turns = max(1, c.Turns)
	}
	return c
}

// About takes from an entry only of what conversation the file is: for its first lines,
// where the ones that follow are not read.
func (t *Transcript) About(e Entry) {
	if t.language == "codex" && e.What == Session && e.Session != "" {
		t.own, t.copied = cmp.Or(t.own, e.Session), e.Session
		if e.Session != t.own {
			return // it was copied from another conversation: a rollout is that of its first line
		}
	}
	if e.Side {
		t.side = true
	} else {
		t.main = true
	}
	t.conv.Session, t.conv.CWD = cmp.Or(t.own, e.Session, t.conv.Session), cmp.Or(e.CWD, t.conv.CWD)
	t.conv.Version, t.model = cmp.Or(e.Version, t.conv.Version), cmp.Or(e.Model, t.model)
	if !e.At.IsZero() && (t.conv.Began.IsZero() || e.At.Before(t.conv.Began)) {
		t.conv.Began = e.At
	}
}

// Take folds an entry into the conversation, and returns what it says of what a response
// used, if it does. What a sub-agent does in the same file is its own turn, not this one.
func (t *Transcript) Take(e Entry) (fleet.Usage, bool) {
	t.About(e)
	if e.At.After(t.conv.Written) {
		t.conv.Written = e.At
	}
	if !e.Side || t.Side() {
		t.turn(e)
	}
	return t.used(e)
}

// turn follows what the conversation is at.
func (t *Transcript) turn(e Entry) {
	switch e.What {
	case Prompt:
		t.conv.Turns++
		t.conv.Failure = nil
	case Response:
		t.conv.Failure, t.conv.Model = nil, cmp.Or(e.Model, t.model, t.conv.Model)
		if e.At.After(t.conv.Answered) {
			t.conv.Answered = e.At
		}
	case Failure:
		failed := *e.Failure
		if failed.Name == "rate_limit" && failed.Until.IsZero() && t.limit.After(e.At) {
			failed.Until = t.limit
		}
		t.conv.Failure = &failed
	case Window:
		if len(e.Quota) > 0 {
			t.conv.Quota = e.Quota
		}
		if e.Failure != nil {
			t.limit = e.Failure.Until
		}
	case Compact:
		t.conv.Used = fleet.Unknown[int64]("its context was compacted, and what is left was not told yet")
	}
	if e.Used.IsKnown() {
		t.conv.Used = e.Used
	}
	if n, ok := e.Window.Get(); ok && n > 0 {
		t.conv.Window = e.Window
	}
	t.happened(e)
}

// happened keeps what hooks tell too.
func (t *Transcript) happened(e Entry) {
	h := fleet.HookEvent{At: fleet.Instant{Wall: e.At}, Kind: t.conv.Kind, Session: cmp.Or(e.Session, t.conv.Session), Tool: e.Tool, CallID: e.CallID,
		Text: e.Text, Context: fleet.Unknown[float64]("not told"), Source: fleet.UsageTranscript}
	switch e.What {
	case Prompt:
		h.Event, h.Text = fleet.HookPrompt, e.PromptHash+" "+e.Text
	case ToolBegin:
		h.Event, h.Args = fleet.HookToolBegin, e.Args()
		if e.Tool == "AskUserQuestion" || e.Tool == "request_user_input" {
			h.Event = fleet.HookQuestion
		}
	case ToolEnd:
		h.Event = fleet.HookToolEnd
	case Stop:
		h.Event = fleet.HookStop
	case Failure:
		h.Event, h.Text, h.Args = fleet.HookFailure, cmp.Or(t.conv.Failure.Name, "unknown"), t.conv.Failure.Text
		if !t.conv.Failure.Until.IsZero() {
			h.Until = fleet.Instant{Wall: t.conv.Failure.Until}
		}
	case Compact:
		h.Event = fleet.HookCompact
	default:
		return
	}
	if n := len(t.conv.Events); n > 0 && h.Event == fleet.HookStop && t.conv.Events[n-1].Event == fleet.HookStop {
		return // it is told twice
	}
	if len(t.conv.Events) == mostEvents {
		t.conv.Events = append(t.conv.Events[:0], t.conv.Events[1:]...)
	}
	t.conv.Events = append(t.conv.Events, h)
}

// used is the row of a response, without its price.
func (t *Transcript) used(e Entry) (fleet.Usage, bool) {
	key := e.Key
	switch {
	case e.Tokens.All() == 0 || key == "":
		return fleet.Usage{}, false
	case !e.Counted():
		t.named = true
	case t.named || t.conv.Session == "":
		return fleet.Usage{}, false
	default:
		key = t.language + ":" + cmp.Or(t.copied, t.conv.Session) + ":" + strings.TrimPrefix(key, "total:")
	}
	at := e.At
	if at.IsZero() {
		at = t.conv.Written // zero where no line before has told one either
	}
	pricing := fleet.Unpriced
	if e.Cost > 0 {
		pricing = fleet.PricedByCLI
	}
	return fleet.Usage{Key: key, Kind: t.conv.Kind, Session: cmp.Or(e.Session, t.conv.Session), Model: cmp.Or(e.Model, t.model), At: at,
		Source: fleet.UsageTranscript, Side: e.Side || t.Side(), Tokens: e.Tokens, Pricing: pricing, MicroUSD: e.Cost, CWD: cmp.Or(e.CWD, t.conv.CWD)}, true
}
