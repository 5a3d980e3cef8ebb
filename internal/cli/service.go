package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/service"
	"custos/internal/service/command"
)

func (a *app) serviceCommand() *cobra.Command {
	m := a.Service
	m.Getenv = a.Getenv
	return command.New(command.Port{Machine: m, Config: a.serviceConfig, Health: a.serviceHealth, JSON: func() bool { return a.json },
		Show: a.showLines, Raw: func(text string) error { _, err := fmt.Fprint(a.Stdout, text); return err },
		Note: func(text string) { fmt.Fprint(a.Stderr, clean(text)) }, Doing: func(what string) func() { return a.progress(what).end },
		Unwell: errUnwell, Unanswered: errUnanswered})
}

// serviceConfig is the absolute path of the custos.toml that was named.
func (a *app) serviceConfig() (string, error) {
	if _, err := a.config(); err != nil || a.file == "" {
		return "", err
	}
	return filepath.Abs(a.file)
}

// serviceHealth is how the daemon of this configuration is.
func (a *app) serviceHealth(ctx context.Context) (out service.Health) {
	conf, err := a.config()
	if err == nil && a.Daemon.Holder != nil {
		out.PID = a.Daemon.Holder(conf)
	}
	h, err := a.feelDaemon(ctx, 0)
	if err != nil {
		out.Says = "no daemon answers"
		return out
	}
	out.Well, out.Says = healthError(h) == nil, healthLine(h)
	return out
}

// showLines prints a value as JSON, or lines, each indented as it begins.
func (a *app) showLines(v any, lines []string, next []api.Hint) error {
	return a.show(v, func(p *page) {
		for _, line := range lines {
			text := strings.TrimLeft(line, " ")
			p.text(len(line)-len(text), flat(text))
		}
		p.next(next)
	})
}
