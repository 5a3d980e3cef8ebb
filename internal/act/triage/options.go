package triage

import (
	"errors"
	"fmt"
	"math"
	"time"

	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/git"
	"custos/internal/sys/judge"
)

// Options is the section [triage] of custos.toml.
type Options struct {
	// PerHour and PerDay are how many calls may be made; 0 is none. Defaults: those
	// of fleet.DefaultTriagePolicy, here and below.
	PerHour *int `toml:"per_hour" is:"0..1000"`
	PerDay  *int `toml:"per_day" is:"0..10000"`
	// MoneyPerDay is in dollars; 0 is no bound. CallPrice is what a call is taken to
	// cost whose price is not known.
	MoneyPerDay *float64 `toml:"money_per_day" is:"0..10000"`
	CallPrice   *float64 `toml:"call_price" is:"0..100"`
	// Expiry is how long a verdict counts.
	Expiry string `toml:"expiry" is:"duration 1ms..24h"`
	// Confidence, from 0 to 1: below it a verdict only tells a person.
	Confidence *float64 `toml:"confidence" is:"0..1"`

	// Deadline is how long one question may take. Default "60s".
	Deadline string `toml:"deadline" is:"duration 1ms..1h"`
	// MaxTokens is the most tokens of an answer. Default 1024.
	MaxTokens int `toml:"max_tokens" is:"0..32768"`
	// ScreenLines is how much of a terminal is shown to the judge, OutputLines how
	// much of the log of an agent without one. Defaults 60, which is the most, and 100.
	ScreenLines int `toml:"screen_lines" is:"0..60"`
	OutputLines int `toml:"output_lines" is:"0..400"`
	// Watch is how long an agent that is said to be stuck is watched first, MaxCPU
	// how much of one core, in percent, it may use meanwhile. Defaults "1s" and 5.
	Watch  string  `toml:"watch" is:"duration 1ms..1h"`
	MaxCPU float64 `toml:"max_cpu" is:"0..100"`

	// Judge says who is asked; without it, none is.
	Judge judge.Settings `toml:"judge"`

	World   agentrun.World `toml:"-"`
	Records Records        `toml:"-"`
	Git     *git.Reader    `toml:"-"` // default: as git.New makes it
}

// What the options may hold. A screen is read no further than every action on
// agents reads it.
const (
	mostScreen = 60
	mostOutput = 400
	mostTokens = 32 << 10
)

// Policy is what the options allow to be spent. An error names the key.
func (o Options) Policy() (fleet.TriagePolicy, error) {
	p := fleet.DefaultTriagePolicy()
	err := expiry(&p.Expiry, o.Expiry)
	return p, errors.Join(
		set(&p.PerHour, "per_hour", o.PerHour, 1000, 1),
		set(&p.PerDay, "per_day", o.PerDay, 10_000, 1),
		set(&p.MoneyPerDay, "money_per_day", o.MoneyPerDay, 10_000, 1e6),
		set(&p.CallPrice, "call_price", o.CallPrice, 100, 1e6),
		err,
		set(&p.Confidence, "confidence", o.Confidence, 1, 1),
	)
}

// expiry reads how long a verdict counts: not longer than a judge can give time.
func expiry(into *fleet.Duration, text string) error {
	if text == "" {
		return nil
	}
	d, err := fleet.ParseDuration(text)
	if err != nil || d <= 0 || d > judge.MaxExtension {
		return fmt.Errorf("cannot use expiry = %q: want a duration up to 24h, such as %s", text, *into)
	}
	*into = fleet.Duration(d)
	return nil
}

// set writes a number that was given, in units of the policy, of which there are
// so many in one of the file's.
func set[To, From int | int64 | float64](into *To, key string, given *From, most, units float64) error {
	if given == nil {
		return nil
	}
	v := float64(*given)
	if math.IsNaN(v) || v < 0 || v > most {
		return fmt.Errorf("cannot use %s = %v: want a number from 0 to %v", key, *given, most)
	}
	*into = To(v * units)
	return nil
}

func (o Options) action() (*Action, error) {
	x := &Action{records: o.Records, git: o.Git, settings: o.Judge, tokens: o.MaxTokens, screen: o.ScreenLines,
		output: o.OutputLines, rest: agentrun.Rest{MaxCPU: o.MaxCPU}}
	var errs [8]error
	var p fleet.TriagePolicy
	x.World, errs[0] = o.World.Check()
	p, errs[1] = o.Policy()
	x.expiry = time.Duration(p.Expiry)
	x.deadline, errs[2] = agentrun.Duration("deadline", o.Deadline, time.Minute)
	x.rest.Watch, errs[3] = agentrun.Duration("watch", o.Watch, time.Second)
	x.judge, errs[4] = judge.New(o.Judge)
	errs[5] = count("max_tokens", &x.tokens, 1024, mostTokens)
	errs[6] = count("screen_lines", &x.screen, mostScreen, mostScreen)
	errs[7] = count("output_lines", &x.output, 100, mostOutput)
	if x.rest.MaxCPU == 0 {
		x.rest.MaxCPU = 5
	}
	if x.git == nil {
		x.git = git.New(git.Options{})
	}
	return x, errors.Join(errs[:]...)
}

// count fills in a number that was not given.
func count(key string, n *int, or, most int) error {
	if *n == 0 {
		*n = or
	}
	if *n < 0 || *n > most {
		return fmt.Errorf("cannot use %s = %d: want a number from 1 to %d", key, *n, most)
	}
	return nil
}
