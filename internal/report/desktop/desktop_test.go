package desktop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/fleet"
)

// The program gets the text as arguments, word by word as it is, without markup.
func TestNotify(t *testing.T) {
	dir := t.TempDir()
	program, told := filepath.Join(dir, "send"), filepath.Join(dir, "told")
	script := "#!/bin/sh\nfor a; do printf '%s|' \"$a\"; done > " + told + "\n[ \"$DISPLAY\" = :7 ]\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"DISPLAY": ":7", "PATH": os.Getenv("PATH")}
	n := New(Options{Name: "desk", Program: program, Getenv: func(k string) string { return env[k] }})
	for _, c := range []struct {
		m    fleet.Message
		want string
	}{
		{fleet.Message{Priority: fleet.P0, Subject: "--urgency=low", Body: "$(rm -rf /) <b>&"}, "--app-name=custos|--urgency=critical|--|--urgency=low|$(rm -rf /) &lt;b&gt;&amp;|"},
		{fleet.Message{Priority: fleet.P2, Subject: "a"}, "--app-name=custos|--urgency=normal|--|a||"},
		{fleet.Message{Priority: fleet.P0, AllClear: true, Subject: "a"}, "--app-name=custos|--urgency=low|--|a||"},
	} {
		if err := n.Notify(t.Context(), c.m); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(told); string(b) != c.want {
			t.Errorf("it was given %q, want %q", b, c.want)
		}
	}
	long := fleet.Message{Subject: "a", Body: strings.Repeat("é", 10000)}
	if err := n.Notify(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(told); len(b) > 1000 {
		t.Errorf("it was given %d bytes", len(b))
	}
	env["DISPLAY"] = ""
	if err := n.Notify(t.Context(), long); err == nil {
		t.Error("it failed, and nobody says so")
	}
	missing := New(Options{Name: "desk", Program: "no-such-notify-send"})
	if err := missing.Notify(t.Context(), long); err == nil || !strings.Contains(err.Error(), "libnotify-bin") {
		t.Errorf("a missing program: %v", err)
	}
}
