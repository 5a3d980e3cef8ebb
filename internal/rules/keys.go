package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"custos/internal/fleet"
	"custos/internal/nearest"
)

// setters lists the keys of a rule and how each is read.
func setters() map[string]func(*Rule, any) error {
	return map[string]func(*Rule, any) error{
		"what":            func(r *Rule, v any) error { return take(&r.What, v, oneLine) },
		"priority":        func(r *Rule, v any) error { return take(&r.Priority, v, fleet.ParsePriority) },
		"over":            func(r *Rule, v any) error { return take(&r.Over, v, parseKind) },
		"expr":            func(r *Rule, v any) error { return take(&r.Expr, v, notEmpty) },
		"for":             func(r *Rule, v any) error { return take(&r.For, v, parseDuration) },
		"keep_firing_for": func(r *Rule, v any) error { return take(&r.KeepFiringFor, v, parseDuration) },
		"for_patrols":     func(r *Rule, v any) error { return takeCount(&r.ForPatrols, v) },
		"tell_after":      func(r *Rule, v any) error { return takeCount(&r.TellAfter, v) },
		"summary":         func(r *Rule, v any) error { return take(&r.Summary, v, notEmpty) },
		"actions":         func(r *Rule, v any) error { return takeActions(&r.Actions, v) },
		"mode":            func(r *Rule, v any) error { return take(&r.Mode, v, fleet.ParseMode) },
		"cooldown":        func(r *Rule, v any) error { return take(&r.Cooldown, v, parseDuration) },
		"attempts":        func(r *Rule, v any) error { return take(&r.Attempts, v, parseAttempts) },
		"spacing":         func(r *Rule, v any) error { return take(&r.Spacing, v, fleet.ParseSpacing) },
		"caused_by":       func(r *Rule, v any) error { return takeTexts(&r.CausedBy, v) },
		"runbook":         func(r *Rule, v any) error { return take(&r.Runbook, v, oneLine) },
		"lists":           func(r *Rule, v any) error { return take(&r.Lists, v, oneLine) },
		"category":        func(r *Rule, v any) error { return take(&r.Category, v, fleet.ParseCategory) },
		"enabled":         func(r *Rule, v any) error { return takeBool(&r.Enabled, v) },
	}
}

// actionSetters lists the keys of one action.
func actionSetters() map[string]func(*Action, any) error {
	return map[string]func(*Action, any) error{
		"do":      func(a *Action, v any) error { return take(&a.Do, v, oneLine) },
		"targets": func(a *Action, v any) error { return take(&a.Targets, v, parseTarget) },
		"where":   func(a *Action, v any) error { return take(&a.Where, v, notEmpty) },
		"order":   func(a *Action, v any) error { return take(&a.Order, v, notEmpty) },
		"limit":   func(a *Action, v any) error { return takeCount(&a.Limit, v) },
		"text":    func(a *Action, v any) error { return take(&a.Text, v, oneLine) },
	}
}

func take[T any](to *T, v any, parse func(string) (T, error)) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("it is %s, want a text", kindOf(v))
	}
	x, err := parse(s)
	if err == nil {
		*to = x
	}
	return err
}

func takeCount(to *int, v any) error {
	n, ok := v.(int64)
	if !ok || n < 0 || n > 1_000_000 {
		return fmt.Errorf("it is %s, want a number from 0 to 1000000", kindOf(v))
	}
	*to = int(n)
	return nil
}

func takeBool(to *bool, v any) error {
	b, ok := v.(bool)
	if !ok {
		return fmt.Errorf("it is %s, want true or false", kindOf(v))
	}
	*to = b
	return nil
}

func takeTexts(to *[]string, v any) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("it is %s, want a list of texts", kindOf(v))
	}
	var out []string
	for _, x := range list {
		s, ok := x.(string)
		if !ok {
			return fmt.Errorf("it holds %s, want texts", kindOf(x))
		}
		out = append(out, s)
	}
	*to = out
	return nil
}

func takeActions(to *[]Action, v any) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("it is %s, want a list like [{ do = \"…\" }]", kindOf(v))
	}
	var out []Action
	for _, x := range list {
		a, err := readAction(x)
		if err != nil {
			return err
		}
		out = append(out, a)
	}
	*to = out
	return nil
}

func readAction(v any) (Action, error) {
	var a Action
	table, ok := v.(map[string]any)
	if !ok {
		return a, fmt.Errorf("it holds %s, want tables like { do = \"…\" }", kindOf(v))
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		set, ok := actionSetters()[key]
		if !ok {
			return a, fmt.Errorf("unknown key %q%s", key, nearest.Hint(key, slices.Sorted(maps.Keys(actionSetters()))))
		}
		if err := set(&a, table[key]); err != nil {
			return a, fmt.Errorf("%s: %w", key, err)
		}
	}
	if a.Do == "" {
		return a, fmt.Errorf("an action has no do")
	}
	return a, nil
}

func oneLine(s string) (string, error) {
	if fleet.Line(s, 300) != s {
		return "", fmt.Errorf("cannot read %q: want one plain line of at most 300 characters", fleet.Line(s, 60))
	}
	return s, nil
}

func notEmpty(s string) (string, error) {
	if strings.TrimSpace(s) == "" {
		return "", fmt.Errorf("it is empty")
	}
	return s, nil
}

func parseKind(s string) (fleet.Kind, error) { return oneOf(s, Kinds()) }

func parseTarget(s string) (fleet.Kind, error) { return oneOf(s, targetKinds()) }

func oneOf(s string, kinds []fleet.Kind) (fleet.Kind, error) {
	if !slices.Contains(names(kinds), s) {
		return "", fmt.Errorf("cannot use %q%s want one of %s", s, separator(nearest.Hint(s, names(kinds))), strings.Join(names(kinds), ", "))
	}
	return fleet.Kind(s), nil
}

func separator(h string) string {
	if h == "" {
		return ":"
	}
	return h
}

// parseDuration reads "90s", "2h30m" or "3d".
func parseDuration(s string) (fleet.Duration, error) {
	d, err := fleet.ParseDuration(s)
	return fleet.Duration(d), err
}

var attempts = regexp.MustCompile(`^([0-9]{1,4}) in (\S+)$`)

// parseAttempts reads "3 in 1h"; empty means any number.
func parseAttempts(s string) (fleet.Attempts, error) {
	if s == "" {
		return fleet.Attempts{}, nil
	}
	m := attempts.FindStringSubmatch(s)
	if m == nil {
		return fleet.Attempts{}, fmt.Errorf("cannot read %q: want something like 3 in 1h", s)
	}
	in, err := parseDuration(m[2])
	if err != nil {
		return fleet.Attempts{}, err
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n == 0 || in == 0 {
		return fleet.Attempts{}, fmt.Errorf("cannot read %q: want at least one try in some time; to try nothing, use mode = \"observe\"", s)
	}
	return fleet.Attempts{Max: n, In: in}, nil
}

func kindOf(v any) string {
	switch v := v.(type) {
	case string:
		return "a text"
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case bool:
		return fmt.Sprint(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}
