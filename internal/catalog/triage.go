package catalog

import (
	"context"
	"slices"
	"strings"

	"custos/internal/act"
	"custos/internal/act/triage"
	"custos/internal/config"
	"custos/internal/fleet"
)

// Judgements is what the ledger knows of verdicts, made of two reads of it. It
// implements triage.Records.
type Judgements struct {
	// Past returns what is remembered now.
	Past func(ctx context.Context) (fleet.Past, error)
	// Verdict returns the newest verdict on evidence of this hash, however old, and
	// whether there is one. nil: those in Past are all.
	Verdict func(ctx context.Context, hash string) (fleet.Verdict, bool, error)
}

// Known implements triage.Records.
func (j Judgements) Known(ctx context.Context, hash string) (fleet.Verdict, bool, error) {
	if j.Verdict != nil {
		return j.Verdict(ctx, hash)
	}
	p, err := j.Past(ctx)
	for _, v := range slices.Backward(p.Verdicts) {
		if v.Evidence == hash {
			return v, true, err
		}
	}
	return fleet.Verdict{}, false, err
}

// History implements triage.Records.
func (j Judgements) History(ctx context.Context, alert fleet.AlertKey) (done []fleet.ActionRecord, said []fleet.Verdict, err error) {
	p, err := j.Past(ctx)
	for _, a := range p.Actions {
		if a.For == alert {
			done = append(done, a)
		}
	}
	for _, v := range p.Verdicts {
		if v.Alert == alert {
			said = append(said, v)
		}
	}
	return done, said, err
}

// Triage reads what the section [triage] allows to be spent.
func Triage(cfg config.Config) (fleet.TriagePolicy, error) {
	o, err := triageOptions(cfg)
	if err != nil {
		return fleet.TriagePolicy{}, err
	}
	p, err := o.Policy()
	if err != nil {
		return p, cfg.Misread("triage", err)
	}
	return p, nil
}

func triageOptions(cfg config.Config) (o triage.Options, err error) {
	if err := cfg.Section("triage", &o); err != nil {
		return o, err
	}
	if file := o.Judge.Key.File; file != "" {
		if o.Judge.Key.File, err = cfg.Expand(file); err != nil {
			return o, cfg.Misread("triage.judge.key.file", err)
		}
	}
	if file := o.Judge.CAFile; file != "" {
		if o.Judge.CAFile, err = cfg.Expand(file); err != nil {
			return o, cfg.Misread("triage.judge.ca_file", err)
		}
	}
	if argv := o.Judge.Command; len(argv) > 0 && strings.HasPrefix(argv[0], "~/") {
		if argv[0], err = cfg.Expand(argv[0]); err != nil {
			return o, cfg.Misread("triage.judge.command", err)
		}
	}
	return o, nil
}

// newTriage makes the action. Where nothing is remembered it is there, and cannot
// be done: it could not be told what was judged before.
func newTriage(w *World, remembered Judgements) (act.Action, error) {
	o, err := triageOptions(w.Config)
	if err != nil {
		return nil, err
	}
	if o.World = w.agents(); remembered.Past != nil {
		o.Records = remembered
	}
	a, err := triage.New(o)
	return a, w.Config.Misread("triage", err)
}
