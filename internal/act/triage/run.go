package triage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/judge"
)

// run is one question, with all that is to be judged.
type run struct {
	*agentrun.Live
	x       *Action
	action  fleet.Action
	data    string // the evidence, as JSON
	hash    string
	known   *fleet.Verdict // on this very evidence
	verdict *fleet.Verdict
}

// longest is how long the reason of a verdict may be, in characters.
const longest = 500

// Do implements act.Run. It makes one call, or none where this very evidence was
// judged before. An error means that there is no answer; what is known of the call
// is in the verdict all the same, because it may have to be paid.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot triage: %w", err)
	}
	if r.known != nil {
		r.verdict = r.again(*r.known)
		return nil
	}
	if r.Handle.Ended() {
		return agentrun.Refused("it has ended")
	}
	a, err := r.x.judge.Ask(ctx, judge.Question{System: instructions(r.x.expiry), Data: r.data, Schema: judge.VerdictSchema(),
		MaxTokens: r.x.tokens, Deadline: r.x.deadline})
	if err != nil && a.Calls == 0 {
		return err // no judge was asked, and nothing is to be paid
	}
	r.verdict = r.receipt(a)
	if err != nil {
		r.verdict.Word, r.verdict.Reason = fleet.VerdictAsk, shown(err.Error())
		return err
	}
	r.weigh(judge.ParseVerdict(a.Text, r.verdict.At.Wall))
	return nil
}

// receipt is a verdict that says what a call took, and nothing else yet.
func (r *run) receipt(a judge.Answer) *fleet.Verdict {
	v := r.blank()
	v.Judge = fleet.Line(strings.TrimSpace(r.x.judge.Kind()+" "+a.Model), 100)
	v.Took, v.MicroUSD, v.Priced = fleet.Duration(a.Took), a.Cost.Micros, a.Cost.Known
	if a.Usage.Known {
		v.Tokens = a.Usage.Input + a.Usage.Output
	}
	return v
}

func (r *run) blank() *fleet.Verdict {
	now := r.x.Now()
	return &fleet.Verdict{ID: r.action.ID, Alert: r.action.For, Evidence: r.hash, At: now, Expires: now.Add(r.x.expiry)}
}

// weigh takes the one word over, and what belongs to it.
func (r *run) weigh(said judge.Verdict) {
	v := r.verdict
	v.Word, v.Confidence, v.Reason = word(said.Decision), said.Confidence, shown(said.Reason)
	if v.Word == fleet.VerdictExtend {
		v.Until = v.At.Add(said.Until.Sub(v.At.Wall))
	}
}

// word is the fleet's name for what a judge may say; anything else asks.
func word(d judge.Decision) fleet.VerdictWord {
	switch w := fleet.VerdictWord(d); w {
	case fleet.VerdictRetry, fleet.VerdictExtend, fleet.VerdictInterrupt, fleet.VerdictRestart, fleet.VerdictStop:
		return w
	}
	return fleet.VerdictAsk
}

// shown makes what a judge wrote fit for people: it may repeat what it was shown.
func shown(text string) string { return fleet.Line(hide(fleet.Text(text)), longest) }

// again gives the verdict on the same evidence once more, for nothing. An
// extension that has passed has shown that nothing came of waiting.
func (r *run) again(was fleet.Verdict) *fleet.Verdict {
	v := r.blank()
	v.Free, v.Judge = true, was.Judge
	v.Word, v.Until, v.Confidence, v.Reason = was.Word, was.Until, was.Confidence, was.Reason
	if was.Word == fleet.VerdictExtend && !v.At.Before(was.Until) {
		v.Word, v.Until = fleet.VerdictAsk, fleet.Instant{}
		v.Reason = shown("it was left alone until " + clock(was.Until) + ", and nothing has changed since: " + was.Reason)
	}
	return v
}

// Verify implements act.Run: the verdict in words.
func (r *run) Verify(context.Context) (string, error) {
	v := r.verdict
	if v == nil {
		return "", fmt.Errorf("there is no verdict")
	}
	said := string(v.Word)
	if v.Word == fleet.VerdictExtend {
		said += " until " + clock(v.Until)
	}
	return fmt.Sprintf("%s (confidence %.2f) by %s, %s: %s", said, v.Confidence, v.Judge, cost(v), v.Reason), nil
}

// cost says what a verdict took.
func cost(v *fleet.Verdict) string {
	if v.Free {
		return "known already"
	}
	var parts []string
	if v.Tokens > 0 {
		parts = append(parts, fleet.Counted(int(v.Tokens), "token"))
	}
	if v.Priced {
		parts = append(parts, fmt.Sprintf("$%.4f", float64(v.MicroUSD)/1e6))
	}
	return strings.Join(append(parts, time.Duration(v.Took).Round(100*time.Millisecond).String()), ", ")
}

func clock(i fleet.Instant) string { return i.Wall.UTC().Format("15:04 UTC") }

// Judged returns what the judge said, for the ledger; nil when none was asked.
func (r *run) Judged() *fleet.Verdict { return r.verdict }
