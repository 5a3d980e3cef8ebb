package catalog

import (
	"fmt"

	"custos/internal/config"
	"custos/internal/sys/judge"
)

// Interpreter is the judge that is asked which reply somebody may have meant; nil
// unless [replies] says so.
func Interpreter(cfg config.Config) (*judge.Client, error) {
	s := repliesSection{}
	if err := cfg.Section("replies", &s); err != nil || !s.Judge {
		return nil, err
	}
	o, err := triageOptions(cfg)
	if err != nil {
		return nil, err
	}
	c, err := judge.New(o.Judge)
	if err != nil {
		return nil, cfg.Misread("triage.judge", err)
	}
	if c.Kind() == "none" {
		return nil, fmt.Errorf("cannot read %s:%d: [replies] judge: there is no [triage.judge] to ask", cfg.File, cfg.Line("replies.judge"))
	}
	return c, nil
}
