package store

import (
	"context"
	"fmt"

	"custos/internal/fleet"
)

// VerdictOf returns the newest verdict on that evidence, and whether there is one.
func (s *Store) VerdictOf(ctx context.Context, evidence string) (fleet.Verdict, bool, error) {
	found, err := list[fleet.Verdict](ctx, s, "list verdicts", source{table: "verdicts", key: "id", where: "WHERE evidence = ? ORDER BY seq DESC LIMIT 1", args: []any{evidence}})
	if err != nil || len(found) == 0 {
		return fleet.Verdict{}, false, err
	}
	return found[0], true, nil
}

// judged keeps the verdict that an action brought. The first of an action stays.
func (t *tx) judged(rec fleet.ActionRecord) error {
	if rec.Result == nil || rec.Result.Verdict == nil {
		return nil
	}
	v := receipt(*rec.Result)
	isNew, err := t.putVerdict(v, first)
	if err != nil || !isNew {
		return err
	}
	if err := t.failedByVerdict(v); err != nil {
		return err
	}
	return t.event(fleet.Event{Kind: "verdict", Alert: v.Alert, Subject: rec.Subject, Action: v.ID, Text: fleet.Line(verdictWords(v), 400)})
}

// failedByVerdict notes the failure of an agent that, as a model says, is to be ended.
// What was said again without being asked is none anew.
func (t *tx) failedByVerdict(v fleet.Verdict) error {
	if v.Alert.Subject.Kind != fleet.KindAgent || v.Free || v.Word != fleet.VerdictStop && v.Word != fleet.VerdictRestart {
		return nil
	}
	reg, err := t.registration(v.Alert.Subject.Name)
	if err != nil {
		return err
	}
	if reg == nil { // nobody registered it: its name is all there is
		reg = &fleet.Registration{Name: v.Alert.Subject.Name}
	}
	f := failureOf(*reg, string(v.Word), verdictWords(v))
	f.Tier, f.At = tierModel, v.At
	return t.fail(f)
}

// putVerdicts keeps the receipts of a turn; a newer one of the same call takes the
// place of the older.
func putVerdicts(t *tx, turn fleet.Turn) error {
	for _, v := range turn.Plan.Verdicts {
		if _, err := t.putVerdict(v, ""); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) putVerdict(v fleet.Verdict, where string) (bool, error) {
	return t.put(line{table: "verdicts", value: v, names: columns{{"id", v.ID}}, where: where,
		first: append(aged(v.At), column{"alert", v.Alert.String()}, column{"evidence", v.Evidence})})
}

// receipt is the verdict of a result, named by its action, whatever the judge
// left out.
func receipt(r fleet.Result) fleet.Verdict {
	v := *r.Verdict
	v.ID = r.ActionID
	if v.Alert == (fleet.AlertKey{}) {
		v.Alert = r.For
	}
	if v.At.IsZero() {
		v.At = r.Ended
	}
	return v
}

// verdictWords is "extend, 80 % sure, by anthropic model-x: it compiles".
func verdictWords(v fleet.Verdict) string {
	words := fmt.Sprintf("%s, %.0f %% sure, by %s", v.Word, 100*v.Confidence, v.Judge)
	if v.Free {
		words += ", said before of the same evidence"
	}
	return withWhy(words, v.Reason)
}
