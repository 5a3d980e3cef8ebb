package fleet

import (
	"testing"
	"time"
)

func TestProjectsOf(t *testing.T) {
	snap := Snapshot{Phases: Part[[]Phase]{Value: []Phase{{Path: "/p/x.phase", Project: "shop"}}}}
	past := Past{Registrations: []Registration{{Name: "a", Project: "shop"}, {Name: "b"}}, Runs: []Run{{ID: "r1", Project: "bank"}}}
	p := ProjectsOf(&snap, &past)
	for of, want := range map[Subject]string{
		{Kind: KindAgent, Name: "a"}:                      "shop",
		{Kind: KindAgent, Name: "b"}:                      "",
		{Kind: KindAgent, Name: "stranger"}:               "",
		{Kind: KindProject, Name: "shop"}:                 "shop",
		{Kind: KindIssue, Name: "shop#12"}:                "shop",
		{Kind: KindIssue, Name: "c#/net#12"}:              "c#/net",
		{Kind: KindPull, Name: "shop!7"}:                  "shop",
		{Kind: KindPipeline, Name: "woodpecker/shop#12"}:  "shop",
		{Kind: KindPipeline, Name: "woodpecker/a/shop#1"}: "a/shop",
		{Kind: KindRun, Name: "r1"}:                       "bank",
		{Kind: KindPhase, Name: "/p/x.phase"}:             "shop",
		{Kind: KindHost, Name: "shop"}:                    "",
		{Kind: KindWorker, Name: "shop#1"}:                "",
	} {
		if got := p.Of(of); got != want {
			t.Errorf("%s is of project %q, want %q", of, got, want)
		}
	}
}

// TestPauseHoldsItsProjectOnly: until it is resumed, and nothing else; alerts of no
// project are of none that is paused.
func TestPauseHoldsItsProjectOnly(t *testing.T) {
	at := Instant{Wall: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), Up: Duration(time.Hour), Boot: "b"}
	pause := PauseProject("shop", "ann", "moving", at)
	if !at.Before(pause.Until) || ResumeProject("shop", "ann", at).From.Before(ResumeProject("shop", "ann", at).Until) {
		t.Error("a pause is over at once, or its end is a pause")
	}
	plain := Silence{Subject: Subject{Kind: KindProject, Name: "bank"}, From: at, Until: at.Add(time.Hour)}
	alerts := []Alert{{Project: "shop"}, {Project: "bank"}, {}}
	held := Held(alerts, []Silence{plain, pause})
	if held[0].SilencedUntil != pause.Until || held[0].SilencedBy != "ann" || !held[1].SilencedUntil.IsZero() || !held[2].SilencedUntil.IsZero() {
		t.Errorf("%+v", held)
	}
	if alerts[0].SilencedBy != "" {
		t.Error("the argument was changed")
	}
	if got := Held(alerts, []Silence{plain, PauseProject("", "ann", "", at)}); !got[2].SilencedUntil.IsZero() {
		t.Error("a pause of no project holds what is of none")
	}
}
