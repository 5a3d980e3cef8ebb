package agent

import (
	"math"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

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
		if until := (fleet.Instant{Wall: conversation.Epoch(&resets)}); ok && told && used >= 100 && e.Until.Wall.Before(until.Wall) {
			e.Until, e.Text = until, "rate_limit"
		}
	}
	e.Status = claudeReport(p)
	e.Status.Quota = claudeQuota(p.object("rate_limits"))
}

// claudeQuota reads what is told of a plan: with a login of a plan only. Named as in 2.1.330.
func claudeQuota(limits payload) (all []fleet.Quota) {
	for _, w := range []struct{ name, window string }{{"five_hour", "5h"}, {"seven_day", "7d"}, {"spend_limit", "spend"}} {
		limit := limits.object(w.name)
		used, ok := limit.number("used_percentage")
		if !ok || !(used >= 0) {
			continue
		}
		q := fleet.Quota{Window: w.window, Percent: min(100, used)}
		if resets, told := limit.number("resets_at"); told {
			q.Resets = conversation.Epoch(&resets)
		}
		all = append(all, q)
	}
	return all
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
	return conversation.Count(&n)
}
