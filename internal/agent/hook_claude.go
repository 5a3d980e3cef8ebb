package agent

import (
	"math"
	"strings"

	"custos/internal/fleet"
)

// claudeHook reads the hooks of Claude Code. Payloads seen with 2.1.197.
func claudeHook(event string, p payload, e *fleet.HookEvent) {
	e.Session = p.id("session_id")
	switch event {
	case "SessionStart":
		e.Event, e.Text = fleet.HookSessionStart, p.word("source")
	case "SessionEnd":
		e.Event, e.Text = fleet.HookSessionEnd, p.word("reason")
	case "UserPromptSubmit":
		prompt(e, p.text("prompt"))
	case "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest":
		toolHook(event, p, e)
	case "Notification":
		claudeNotice(p.word("notification_type"), e)
	case "Stop":
		e.Event = fleet.HookStop
	case "StopFailure":
		e.Event, e.Text = fleet.HookFailure, failure(p.text("error"), p.text("error_details")+" "+p.text("last_assistant_message"))
	case "PreCompact":
		e.Event, e.Text = fleet.HookCompact, p.word("trigger")
	case "Status", "StatusLine":
		claudeStatus(p, e)
	case "SubagentStart", "SubagentStop":
		e.Text = event + " " + p.word("agent_type")
	}
}

// toolHook reads the events about a tool, which claude and codex share.
func toolHook(event string, p payload, e *fleet.HookEvent) {
	e.Tool, e.CallID = fleet.Line(p.text("tool_name"), 100), p.id("tool_use_id")
	e.Args = keptArgs(p.text("tool_name"), p["tool_input"])
	asks := e.Tool == "AskUserQuestion" || e.Tool == "request_user_input"
	switch {
	case event == "PostToolUse":
		e.Event = fleet.HookToolEnd
	case event == "PostToolUseFailure":
		e.Event, e.Text = fleet.HookToolEnd, "failed"
		if p.text("is_interrupt") == "" && string(p["is_interrupt"]) == "true" {
			e.Text = "interrupted"
		}
	case asks:
		e.Event = fleet.HookQuestion
	case event == "PreToolUse":
		e.Event = fleet.HookToolBegin
	default:
		e.Event = fleet.HookPermission
	}
}

func claudeNotice(what string, e *fleet.HookEvent) {
	e.Text = what
	switch what {
	case "permission_prompt":
		e.Event = fleet.HookPermission
	case "elicitation_dialog", "agent_needs_input":
		e.Event = fleet.HookQuestion
	}
}

// claudeStatus reads what a status line command is given. A limit counts as
// reached at 100 %.
func claudeStatus(p payload, e *fleet.HookEvent) {
	e.Event = fleet.HookStatus
	if used, ok := p.object("context_window").number("used_percentage"); ok && used >= 0 && used <= 100 {
		e.Context = fleet.Known(used)
	}
	for _, name := range []string{"five_hour", "seven_day"} {
		limit := p.object("rate_limits").object(name)
		used, ok := limit.number("used_percentage")
		resets, told := limit.number("resets_at")
		if until := instantOf(resets); ok && told && used >= 100 && e.Until.Wall.Before(until.Wall) {
			e.Until, e.Text = until, "rate_limit"
		}
	}
	e.Status = claudeReport(p)
}

// claudeReport reads what is given of model, context and cost. Before the first answer
// the use is null, which is not known. Seen with 2.1.330.
func claudeReport(p payload) *fleet.StatusReport {
	window := p.object("context_window")
	r := &fleet.StatusReport{Model: p.object("model").id("id"), Version: p.id("version"), Transcript: fleet.Line(p.text("transcript_path"), 1000),
		Used: fleet.Unknown[int64]("not told"), Window: wholeNumber(window, "context_window_size"), MicroUSD: fleet.Unknown[int64]("not told")}
	if use := window.object("current_usage"); len(use) > 0 {
		var sum int64
		for _, name := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"} {
			sum += wholeNumber(use, name).Or(0)
		}
		r.Used = fleet.Known(sum)
	}
	if usd, ok := p.object("cost").number("total_cost_usd"); ok && usd >= 0 && usd < 1e6 {
		r.MicroUSD = fleet.Known(int64(math.Round(usd * 1e6)))
	}
	return r
}

func wholeNumber(p payload, key string) fleet.Leaf[int64] {
	n, ok := p.number(key)
	if !ok {
		return fleet.Unknown[int64]("not told")
	}
	return tokenCount(&n)
}

// codexHook reads the hooks of Codex, which has those of Claude Code, and its
// notify program. Payloads seen with 0.169.0.
func codexHook(event string, p payload, e *fleet.HookEvent) {
	if event == "notify" || event == "Notify" {
		// It is also called for turns that are not shown, such as the one that
		// finds a title: no sign that the agent is idle.
		e.Session, e.Text = p.id("thread-id"), p.word("type")
		return
	}
	claudeHook(event, p, e)
}

// geminiHook reads the hooks of Gemini CLI. Payloads seen with 0.61.0.
func geminiHook(event string, p payload, e *fleet.HookEvent) {
	e.Session = p.id("session_id")
	e.Tool = fleet.Line(p.text("tool_name"), 100)
	switch event {
	case "SessionStart":
		e.Event, e.Text = fleet.HookSessionStart, p.word("source")
	case "SessionEnd":
		e.Event, e.Text = fleet.HookSessionEnd, p.word("reason")
	case "BeforeAgent":
		prompt(e, p.text("prompt"))
	case "AfterAgent":
		e.Event = fleet.HookStop
	case "BeforeTool":
		e.Event, e.Args = fleet.HookToolBegin, keptArgs(p.text("tool_name"), p["tool_input"])
	case "AfterTool":
		e.Event, e.Args = fleet.HookToolEnd, keptArgs(p.text("tool_name"), p["tool_input"])
		if t := p.object("tool_response"); len(t["error"]) > 0 && string(t["error"]) != "null" {
			e.Text = "failed"
		}
	case "Notification":
		geminiNotice(p, e)
	case "PreCompress":
		// With "auto" it is called before every turn of the model, whether
		// anything is compressed or not.
		if e.Text = p.word("trigger"); e.Text == "manual" {
			e.Event = fleet.HookCompact
		}
	}
}

func geminiNotice(p payload, e *fleet.HookEvent) {
	e.Text = p.word("notification_type")
	if e.Text != "ToolPermission" {
		return
	}
	e.Event = fleet.HookPermission
	if t := p.object("details").word("type"); t == "ask_user" {
		e.Event = fleet.HookQuestion
	} else {
		e.Text = strings.TrimSpace(e.Text + " " + t)
	}
}
