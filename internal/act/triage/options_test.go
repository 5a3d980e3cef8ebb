package triage

import (
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/sys/judge"
)

func ptr[T any](v T) *T { return &v }

func TestPolicy(t *testing.T) {
	plain, err := Options{}.Policy()
	if err != nil || plain != fleet.DefaultTriagePolicy() {
		t.Errorf("empty: %+v, %v", plain, err)
	}
	got, err := Options{PerHour: ptr(0), PerDay: ptr(7), MoneyPerDay: ptr(1.5), CallPrice: ptr(0.01), Expiry: "7h", Confidence: ptr(1.0)}.Policy()
	want := fleet.TriagePolicy{PerDay: 7, MoneyPerDay: 1_500_000, CallPrice: 10_000, Expiry: fleet.Duration(7 * 3600e9), Confidence: 1}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for key, o := range map[string]Options{
		"per_hour":       {PerHour: ptr(-1)},
		"per_day":        {PerDay: ptr(1 << 40)},
		"money_per_day":  {MoneyPerDay: ptr(-0.5)},
		"call_price":     {CallPrice: ptr(101.0)},
		"expiry":         {Expiry: "soon"},
		`expiry = "25h"`: {Expiry: "25h"},
		"confidence":     {Confidence: ptr(1.1)},
		"deadline":       {Deadline: "2h"},
		"max_tokens":     {MaxTokens: -1},
		"screen_lines":   {ScreenLines: 61},
		"output_lines":   {OutputLines: 401},
		"watch":          {Watch: "-1s"},
		"model":          {Judge: judge.Settings{Kind: "openai"}},
		"kind":           {Judge: judge.Settings{Kind: "oracle"}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "cannot set up triage") {
			t.Errorf("bad %s: %v", key, err)
		}
	}
}
