package agent

import (
	"cmp"

	"custos/internal/fleet"
)

// opencodeHook reads what hooks/opencode.js posts: events of OpenCode, each with
// its properties. Payloads seen with 1.18.33.
func opencodeHook(event string, p payload, e *fleet.HookEvent) {
	e.Session = p.id("sessionID")
	switch event {
	case "session.created", "session.deleted":
		e.Session = p.object("info").id("id")
		e.Event = fleet.HookSessionStart
		if event == "session.deleted" {
			e.Event = fleet.HookSessionEnd
		}
	case "chat.message":
		prompt(e, p.text("prompt"))
	case "tool.execute.before", "tool.execute.after":
		e.Event = fleet.HookToolBegin
		if event == "tool.execute.after" {
			e.Event = fleet.HookToolEnd
		}
		e.Tool, e.CallID = fleet.Line(p.text("tool"), 100), p.id("callID")
		e.Args = keptArgs(p.text("tool"), p["args"])
	case "permission.asked", "permission.updated":
		e.Event, e.Tool, e.CallID = fleet.HookPermission, opencodePermission(p), p.object("tool").id("callID")
		if e.CallID == "" {
			e.CallID = p.id("callID")
		}
	case "question.asked":
		e.Event, e.CallID = fleet.HookQuestion, p.object("tool").id("callID")
	case "permission.replied", "question.replied", "question.rejected":
		e.Event, e.CallID, e.Text = fleet.HookAnswered, p.object("tool").id("callID"), cmp.Or(p.word("reply"), event)
	case "session.idle":
		e.Event = fleet.HookStop
	case "session.error":
		opencodeError(p.object("error"), e)
	case "session.status":
		opencodeStatus(p.object("status"), e)
	}
}

func opencodePermission(p payload) string {
	if tool := p.word("permission"); tool != "" {
		return tool
	}
	return p.word("type")
}

// opencodeError tells why a turn ended. A person's interrupt ends it too, and is
// no failure.
func opencodeError(err payload, e *fleet.HookEvent) {
	data := err.object("data")
	e.Event = fleet.HookFailure
	e.Text = failure(err.text("name"), data.text("statusCode")+" "+data.text("message"))
	if e.Text == "interrupted" {
		e.Event = fleet.HookStop
	}
}

// opencodeStatus tells of a wait before another try, which is the only word
// OpenCode has for a rate limit.
func opencodeStatus(status payload, e *fleet.HookEvent) {
	e.Text = status.word("type")
	if e.Text != "retry" {
		return
	}
	if cause := failure("", status.text("message")); cause == "rate_limit" || cause == "authentication" {
		e.Event, e.Text = fleet.HookFailure, cause
		if next, ok := status.number("next"); ok {
			e.Until = instantOf(next)
		}
	}
}
