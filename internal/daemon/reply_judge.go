package daemon

import (
	"context"
	"strings"
	"time"

	"custos/internal/decide"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/sys/judge"
)

// Limits of one question about what somebody may have meant.
const (
	meantIn     = time.Minute
	meantTokens = 200
)

// interpreter is a judge; *judge.Client is one.
type interpreter interface {
	Kind() string
	Ask(ctx context.Context, q judge.Question) (judge.Answer, error)
}

// mean asks the judge which reply a person may have meant, and says whether it was
// asked. It is asked beside the listening, one thing at a time, out of the budget of
// triage. The call is written down first: after a crash it is not made again.
func (d *replyHandler) mean(ctx context.Context, x *exchange) (bool, error) {
	if d.s.meant == nil || d.meaning || !x.place.Asks || ledger.Stale(x.said) || !ledger.Addressed(x.said) || Frozen(d.s.cfg) != "" {
		return false, nil
	}
	past, err := d.s.recall(ctx)
	if err != nil || decide.MayAsk(d.s.triage, past, x.at) != "" {
		return false, err
	}
	for _, v := range past.Verdicts {
		if v.ID == x.id {
			return false, nil
		}
	}
	v := fleet.Verdict{ID: x.id, Evidence: x.id, Word: fleet.VerdictAsk, At: x.at, Expires: x.at, Judge: d.s.meant.Kind(), Reason: "asked what " + x.by + " may have meant"}
	if err := x.commit(ctx, x.at, fleet.Changes{Verdicts: []fleet.Verdict{v}}); err != nil {
		return false, err
	}
	d.meaning = true
	d.looking.Go(func() { d.propose(x, v, ledger.Proposals(d.s.board.Snapshot(), past)) })
	return true, nil
}

// propose tells a person what the judge takes them to mean. Nothing is done with it.
func (d *replyHandler) propose(x *exchange, v fleet.Verdict, list []ledger.Proposal) {
	defer func() {
		d.mu.Lock()
		d.meaning = false
		d.mu.Unlock()
	}()
	data, schema := ledger.ProposalQuestion(x.said, list)
	a, err := d.s.meant.Ask(d.life, judge.Question{System: ledger.ProposalInstructions, Data: data, Schema: schema, MaxTokens: meantTokens, Deadline: meantIn})
	if d.life.Err() != nil { // Custos ends; the receipt is there
		return
	}
	text := notUnderstood()
	if p, ok, bad := ledger.ReadProposal(a.Text, list); err == nil && bad == nil && ok {
		text = ledger.Proposed(p)
	}
	rows := fleet.Changes{Verdicts: []fleet.Verdict{paid(v, a)}, Messages: []fleet.Message{x.answer(text, fleet.AlertKey{})}}
	if err := x.commit(d.life, d.s.world.Now(), rows); err != nil && d.life.Err() == nil {
		d.s.o.Log.Warn("Cannot answer", "err", err)
	}
}

// paid is the receipt of a call that has ended. Of one that was never sent nothing
// is to be paid.
func paid(v fleet.Verdict, a judge.Answer) fleet.Verdict {
	v.Judge = fleet.Line(strings.TrimSpace(v.Judge+" "+a.Model), 100)
	v.Took, v.MicroUSD, v.Priced, v.Free = fleet.Duration(a.Took), a.Cost.Micros, a.Cost.Known, a.Calls == 0
	if a.Usage.Known {
		v.Tokens = a.Usage.Input + a.Usage.Output
	}
	return v
}

func notUnderstood() string {
	return "I did not understand that, and did nothing. I know:\n" + ledger.Vocabulary()
}
