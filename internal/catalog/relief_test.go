package catalog

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

func TestHandoffSection(t *testing.T) {
	w, err := world(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Handoff(w.Config); err != nil || !reflect.DeepEqual(p, fleet.DefaultHandoffPolicy()) || p.Covers(fleet.Registration{Owner: fleet.OwnerCustos, Kind: "claude"}) {
		t.Errorf("nothing is said, and it is %+v, %v", p, err)
	}
	w, err = world(t, "[handoff]\nfor = [\"builder\"]\npercent = 70\ndeadline = \"5m\"\n")
	if err != nil {
		t.Fatal(err)
	}
	want := fleet.HandoffPolicy{For: []string{"builder"}, Percent: 70, Deadline: fleet.Duration(5 * time.Minute)}
	if p, err := Handoff(w.Config); err != nil || !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, %v", p, err)
	}
	for text, says := range map[string]string{
		`percent = 5`:     ":3: [handoff] percent: 5 is not between 10 and 100",
		`percent = 101.0`: "101 is not",
		`deadline = "1s"`: "too short: the least is 1m",
		`deadline = "x"`:  "deadline:",
		`for = [""]`:      "a text in it is empty",
		`four = ["x"]`:    `unknown key "four" in [handoff], did you mean "for"?`,
	} {
		w, err := world(t, "\n[handoff]\n"+text+"\n")
		if err == nil {
			_, err = Handoff(w.Config)
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

func TestPoolSections(t *testing.T) {
	w, err := world(t, `[pool.dev]
project = "shop"
argv = ["claude", "--verbose"]
prompt = "Take up an issue."
repo = "~/shop"
min = 1
max = 4
idle = "10m"
env = ["KEY"]
account = "max"
[pool.ops]
role = "operator"
kind = "codex"
prompt = "Look around."
dir = "/srv"
headless = true
enabled = false
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Pools(w.Config, w.Kinds)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	dev := fleet.Pool{Name: "dev", Role: "dev", Project: "shop", Kind: "claude", Argv: []string{"claude", "--verbose"}, Prompt: "Take up an issue.", Where: fleet.WhereTmux,
		Repo: fleet.Path(w.Config.Home + "/shop"), Min: 1, Max: 4, Idle: fleet.Duration(10 * time.Minute), Env: []string{"KEY"}, Account: "max"}
	ops := fleet.Pool{Name: "ops", Role: "operator", Kind: "codex", Prompt: "Look around.", Where: fleet.WhereHeadless, Dir: "/srv", Max: 1, Idle: fleet.Duration(30 * time.Minute), Disabled: true}
	if !reflect.DeepEqual(got[0], dev) || !reflect.DeepEqual(got[1], ops) {
		t.Errorf("%+v\n%+v", got[0], got[1])
	}
	good := map[string]string{"kind": `"claude"`, "prompt": `"Go."`, "dir": `"/srv"`}
	for change, says := range map[string]string{
		`kind = "clude"`:                `there is no kind "clude"; there are `,
		`prompt = ""`:                   "does not know what it is for",
		`dir = "srv"`:                   `"srv" is relative`,
		"repo = \"/r\"":                 "exactly one of dir",
		"min = 3\nmax = 2":              "min = 3 and max = 2",
		"min = -1":                      "-1 is not between 0 and 100",
		"max = 101":                     "101 is not between 1 and 100",
		`idle = "1s"`:                   "too short: the least is 1m",
		`idel = "1h"`:                   `unknown key "idel"`,
		"kind = \"\"\nargv = [\"vim\"]": `there is no kind "vim"`,
	} {
		text := "[pool.x]\n" + change + "\n"
		for key, value := range good {
			if !strings.Contains(change, key+" =") {
				text += key + " = " + value + "\n"
			}
		}
		w, err := world(t, text)
		if err == nil {
			_, err = Pools(w.Config, w.Kinds)
		}
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "custos.toml:") {
			t.Errorf("%s: %v, want %q", change, err, says)
		}
	}
	if w, err = world(t, "[pool.\"Big one\"]\nkind = \"claude\"\nprompt = \"x\"\ndir = \"/srv\"\n"); err == nil {
		_, err = Pools(w.Config, w.Kinds)
	}
	if err == nil || !strings.Contains(err.Error(), "its name may have") {
		t.Errorf("%v", err)
	}
}
