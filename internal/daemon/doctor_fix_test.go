package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/agent"
	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/daemon"
	"custos/internal/sys/telegramtest"
)

// offered is what the doctor would mend of some categories, by subject.
func offered(t *testing.T, cfg config.Config, categories ...string) (d api.Doctor) {
	t.Helper()
	custos(t, cfg, func(ctx context.Context, c *api.Client) {
		var err error
		if d, err = c.Doctor(ctx, categories, "test"); err != nil {
			t.Fatal(err)
		}
	})
	return d
}

// mended has what was offered done, but for some subjects.
func mended(t *testing.T, cfg config.Config, d api.Doctor, but ...string) (after api.Doctor, err error) {
	t.Helper()
	order := api.DoctorOrder{Version: "test"}
	for _, a := range d.Fix.Actions {
		if !strings.Contains(strings.Join(but, " "), a.Subject) {
			order.Actions = append(order.Actions, api.DoctorDeed{Do: a.Do, Subject: a.Subject, Rule: a.Rule})
		}
	}
	for _, c := range d.Checks {
		order.Categories = append(order.Categories, c.Category)
	}
	custos(t, cfg, func(ctx context.Context, c *api.Client) { after, err = c.Mend(ctx, order) })
	return after, err
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
		t.Errorf("%s has mode %v, want %v; %v", path, info.Mode(), want, err)
	}
}

func subjects(list []api.Deed) (out []string) {
	for _, a := range list {
		out = append(out, a.Subject)
	}
	return out
}

// What is open is closed, as any action is done: offered with its command, journalled
// before and after, and only what was meant.
func TestDoctorFixCloses(t *testing.T) {
	dir, cfg := clinic(t)
	patrol(t, cfg)
	token, spool := filepath.Join(dir, "token"), cfg.StateDir
	setMode(t, 0o644, token)
	setMode(t, 0o775, spool)
	d := offered(t, cfg, "security")
	if got := fmt.Sprint(subjects(d.Fix.Actions)); got != "[landmark/"+spool+" landmark/"+token+"]" {
		t.Fatalf("offered %s, %+v", got, d.Fix)
	}
	if c := d.Fix.Actions[0].Commands; len(c) != 1 || strings.Join(c[0].Argv, " ") != "chmod 700 "+spool {
		t.Errorf("its command is %v", c)
	}
	wantMode(t, spool, 0o775)
	after, err := mended(t, cfg, d, "landmark/"+token)
	if err != nil || len(after.Fix.Done) != 1 || after.Fix.Done[0].Status != "done" || len(after.Fix.Actions) != 1 {
		t.Fatalf("%+v, %v", after.Fix, err)
	}
	wantMode(t, spool, 0o700)
	wantMode(t, token, 0o644)
	custos(t, cfg, func(ctx context.Context, c *api.Client) {
		story, err := c.Story(ctx, "landmark/"+spool)
		if text := fmt.Sprint(story); err != nil || !strings.Contains(text, "close-landmark") {
			t.Errorf("its story: %s, %v", text, err)
		}
	})
	if _, err := mended(t, cfg, offered(t, cfg, "security")); err != nil {
		t.Fatal(err)
	}
	wantMode(t, token, 0o600)
	if d := offered(t, cfg, "security"); len(d.Fix.Actions) != 0 || d.Counts.Bad != 0 {
		t.Errorf("afterwards: %+v", d)
	}
}

// A freeze holds everything, and opens no ledger.
func TestDoctorFixFrozen(t *testing.T) {
	dir, cfg := clinic(t)
	patrol(t, cfg)
	token := filepath.Join(dir, "token")
	setMode(t, 0o644, token)
	d := offered(t, cfg, "security")
	if err := daemon.Freeze(cfg, "ann", "wait"); err != nil {
		t.Fatal(err)
	}
	if _, err := mended(t, cfg, d); err == nil || !strings.Contains(err.Error(), "frozen") {
		t.Errorf("while frozen: %v", err)
	}
	if d := offered(t, cfg, "security"); len(d.Fix.Actions) != 0 || len(d.Fix.Skipped) != 1 || d.Fix.Skipped[0].Guard != "frozen" {
		t.Errorf("offered while frozen: %+v", d.Fix)
	}
	wantMode(t, token, 0o644)
}

// Hooks that were lost from settings are put there again, and what was is kept.
func TestDoctorFixHooks(t *testing.T) {
	dir, cfg := clinic(t)
	bin := filepath.Join(dir, "bin")
	for _, name := range []string{"custos-shim", "custos-hook"} {
		layFile(t, filepath.Join(bin, name), "#!/bin/sh\n", 0o700)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	file := filepath.Join(dir, ".claude/settings.json")
	const mine = "{\n  \"model\": \"opus\"\n}\n"
	whole, err := builtKinds(t).InstallHooks("claude", []byte(mine), bin+"/custos-hook", cfg.RuntimeDir)
	if err != nil {
		t.Fatal(err)
	}
	part := strings.Replace(string(whole), "/custos-hook claude SessionEnd", "/other claude SessionEnd", 1)
	layFile(t, file, part, 0o644)
	d := offered(t, cfg, "hooks")
	if got := fmt.Sprint(subjects(d.Fix.Actions)); got != "[landmark/"+file+"]" {
		t.Fatalf("offered %s, %+v", got, d)
	}
	after, err := mended(t, cfg, d)
	if err != nil || len(after.Fix.Done) != 1 || after.Fix.Done[0].Status != "done" {
		t.Fatalf("%+v, %v", after, err)
	}
	now, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(now), "custos-hook claude SessionEnd") || !strings.Contains(string(now), "/other claude SessionEnd") {
		t.Errorf("it is %s, %v", now, err)
	}
	if kept, err := os.ReadFile(file + ".before-custos"); err != nil || string(kept) != part {
		t.Errorf("kept %s, %v", kept, err)
	}
	wantMode(t, file, 0o644)
}

// A damaged database is set aside, and nothing of it is lost.
func TestDoctorFixDatabase(t *testing.T) {
	_, cfg := clinic(t)
	patrol(t, cfg)
	db := filepath.Join(cfg.StateDir, "custos.db")
	noise := strings.Repeat("no database. ", 1000)
	layFile(t, db, noise, 0o600)
	d := offered(t, cfg, "databases")
	if len(d.Fix.Actions) != 1 || d.Fix.Actions[0].Do != "set-database-aside" {
		t.Fatalf("offered %+v", d.Fix)
	}
	after, err := mended(t, cfg, d)
	if err != nil || len(after.Fix.Done) != 1 || after.Fix.Done[0].Status != "done" {
		t.Fatalf("%+v, %v", after, err)
	}
	aside, err := filepath.Glob(db + ".corrupt-*")
	if err != nil || len(aside) == 0 {
		t.Fatalf("%v, %v", aside, err)
	}
	if b, err := os.ReadFile(aside[0]); err != nil || string(b) != noise {
		t.Errorf("set aside: %d bytes, %v", len(b), err)
	}
}

// A chat is asked who Custos is, and told nothing.
func TestDoctorAsksTheChat(t *testing.T) {
	dir, cfg := clinic(t)
	bot := telegramtest.New(t, clinicSecret, "-100")
	layFile(t, cfg.File, strings.Replace(string(cfg.Text), "type = \"telegram\"\nserver = \"http://127.0.0.1:9\"", "type = \"telegram\"\nserver = \""+bot.URL+"\"", 1), 0o600)
	cfg = load(t, dir)
	wantCheck(t, examined(t, cfg, "chat"), "chat reachable", "ok", "ops as 1")
	layFile(t, filepath.Join(dir, "token"), "wrong-token", 0o600)
	wantCheck(t, examined(t, cfg, "chat"), "chat reachable", "bad", "[notifier.ops] is refused")
	bot.Down(502)
	wantCheck(t, examined(t, cfg, "chat"), "chat reachable", "cannot tell", "[notifier.ops]")
	if sent := bot.Sent(); len(sent) != 0 {
		t.Errorf("it was told %v", sent)
	}
}

// The ends of logs of JSON lines are read, and lines that are broken are counted.
func TestDoctorReadsLogs(t *testing.T) {
	dir, cfg := clinic(t)
	layFile(t, cfg.File, string(cfg.Text)+"[logs]\nglobs = [\""+dir+"/logs/*\"]\n", 0o600)
	cfg = load(t, dir)
	log := filepath.Join(dir, "logs/events.jsonl")
	layFile(t, log, "{\"a\": 1}\n\n{\"b\": 2}\n{\"half", 0o600)
	layFile(t, filepath.Join(dir, "logs/plain.log"), "no json\n", 0o600)
	wantCheck(t, examined(t, cfg, "logs"), "logs lines", "ok", "2 lines of 1 log are whole")
	layFile(t, log, "{\"a\": 1}\n{\"b\": {\"c\"\n{\"d\": 3}\n", 0o600)
	wantCheck(t, examined(t, cfg, "logs"), "logs lines", "warn", log+": 1 of its last 3 lines are no JSON")
}

// builtKinds are the kinds that are built in.
func builtKinds(t *testing.T) *agent.Kinds {
	t.Helper()
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}
