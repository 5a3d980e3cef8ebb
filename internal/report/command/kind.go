package command

import (
	"fmt"

	"custos/internal/fleet"
	"custos/internal/report"
)

// Keys are those of its section.
type Keys struct {
	Run      []string `toml:"run"`
	PassEnv  []string `toml:"pass_env" is:"name"`
	Deadline string   `toml:"deadline" is:"duration 1ms..1h"`
}

// Kind is the type "command".
func Kind() report.Kind {
	return report.KindOf("command", "a program of yours",
		"a `fleet.Message` as JSON on standard input; exit 0 means delivered; its own process group, killed at the deadline; gets `PATH`, `HOME`, `LANG` and what `pass_env` names", newProgram)
}

func newProgram(s report.Setup, k Keys) (r report.Receiver, err error) {
	o := Options{Name: s.Name, Run: k.Run, PassEnv: k.PassEnv, Getenv: s.Getenv}
	if k.Deadline != "" {
		if o.Deadline, err = fleet.ParseDuration(k.Deadline); err != nil {
			return r, fmt.Errorf("deadline: %w", err)
		}
	}
	r.Notifier, err = New(o)
	return r, err
}
