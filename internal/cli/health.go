package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/config"
)

// errUnwell ends health with code 1: the daemon answers, and is not well.
// errUnanswered ends it with 3. What is wrong has been said on the standard output.
var (
	errUnwell     = errors.New("not well")
	errUnanswered = errors.New("no daemon answers")
)

// feel is how long the daemon has to say how it is: it waits for nothing.
const feel = 5 * time.Second

func (a *app) healthCommand() *cobra.Command {
	var most string
	c := a.brake(&cobra.Command{
		Use:   "health",
		Short: "Whether Custos watches: exit code 0, 1 late, 3 no daemon",
		Long: `health asks the daemon when its last whole pass and patrol were, for a probe of
another system: the health check of a container, or a monitoring that asks who
watches the watchman. It exits with 0 when all is well; with 1 when a daemon
answers, and its passes fail, are late, or none was made yet; with 3 when no daemon
answers within 5 seconds: then it says what is on record of the last patrol.
A notifier that fails is named; the code does not change by it.`,
		Example: "  custos health\n  custos health --max-age 5m --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			maxAge, err := ageOf(most)
			if err != nil {
				return err
			}
			h, err := a.feel(cmd.Context(), maxAge)
			if err != nil {
				return err
			}
			if err := a.show(h, func(p *page) { p.text(0, healthLine(h)) }); err != nil {
				return err
			}
			return healthError(h)
		},
	})
	c.Flags().StringVar(&most, "max-age", "", "the highest `AGE` of the last whole pass (default 2m)")
	return c
}

func ageOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := config.Duration(text)
	if err == nil && d <= 0 {
		err = errors.New("want more than nothing")
	}
	if err != nil {
		return 0, usage("cannot read --max-age: %v", err)
	}
	return d, nil
}

// feel asks the daemon; where none answers, the record.
func (a *app) feel(ctx context.Context, maxAge time.Duration) (api.Health, error) {
	conf, err := a.config()
	if err != nil {
		return api.Health{}, err
	}
	if h, err := a.feelDaemon(ctx, maxAge); err == nil || ctx.Err() != nil {
		return h, err
	}
	runs := a.runs()
	handler, closer, err := a.local(ctx, conf)
	if err != nil {
		return api.Health{}, localError(err)
	}
	defer closer()
	ctx, cancel := context.WithTimeout(ctx, feel)
	defer cancel()
	h, err := api.NewClient(api.InProcess(handler)).Health(ctx, maxAge)
	switch why := a.untold(); {
	case why != "":
		h.State, h.Why = api.HealthUnknown, why
	case runs:
		h.State, h.Why = api.HealthSilent, "a daemon runs"+a.holder()+", and does not answer"
	}
	return h, err
}

func (a *app) feelDaemon(ctx context.Context, maxAge time.Duration) (api.Health, error) {
	ctx, cancel := context.WithTimeout(ctx, feel)
	defer cancel()
	c, err := a.reach(ctx)
	if err != nil {
		return api.Health{}, err
	}
	defer c.Close()
	return c.Health(ctx, maxAge)
}

func healthError(h api.Health) error {
	switch h.State {
	case api.HealthWell:
		return nil
	case api.HealthSilent, api.HealthNone, api.HealthUnknown:
		return errUnanswered
	}
	return errUnwell
}

// healthLine is one line, as monitoring systems show it.
func healthLine(h api.Health) string {
	parts := []string{}
	add := func(text, value, after string) {
		if value != "" {
			parts = append(parts, text+flat(value)+after)
		}
	}
	add("", h.Why, "")
	add("the last pass ended ", shortAge(h.PassAge), " ago")
	add("the last patrol ended ", shortAge(h.PatrolAge), " ago")
	add("the next is due ", h.Every, " after it")
	for _, note := range h.Notes {
		add("", note, "")
	}
	switch {
	case h.PatrolAge == "" && h.Trouble != "" && healthError(h) == errUnanswered:
		add("the time of the last patrol is not known: ", h.Trouble, "")
	case h.PatrolAge == "":
		parts = append(parts, "no patrol on record")
	}
	for _, m := range h.Mute {
		add("cannot notify ", m, "")
	}
	return flat(h.State) + ": " + strings.Join(parts, "; ")
}

// shortAge is an age in whole seconds: machines get the rest.
func shortAge(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil {
		return text
	}
	return d.Truncate(time.Second).String()
}
