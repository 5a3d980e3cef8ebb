package unit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	got, err := Text(Options{User: "root", Program: "/opt/my tools/custos", Args: []string{"--config", `/etc/100%/$x"y`}, Env: []Variable{{"PATH", "/a:/b"}, {"X", "it is \\ 5%"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`ExecStart="/opt/my tools/custos" --config "/etc/100%%/$$x\"y" up`, `User=root`, `Environment="PATH=/a:/b"`, `Environment="X=it is \\ 5%%"`,
		"KillMode=process", "OOMPolicy=continue", "Type=notify", "WatchdogSec=2min", "WantedBy=multi-user.target"} {
		if !strings.Contains("\n"+got, "\n"+want+"\n") {
			t.Errorf("no line %s in:\n%s", want, got)
		}
	}
	mine, err := Text(Options{Program: "/usr/bin/custos"})
	if err != nil || strings.Contains(mine, "User=") || !strings.Contains(mine, "\nWantedBy=default.target\n") || !strings.Contains(mine, "\nExecStart=/usr/bin/custos up\n") {
		t.Errorf("%v:\n%s", err, mine)
	}
}

// What would be another line, or another program, is no unit.
func TestWhatNoUnitHolds(t *testing.T) {
	for _, o := range []Options{
		{Program: "custos"}, {Program: ""}, {Program: "/a/$HOME/custos"}, {Program: `/a"`}, {Program: `/a\b`}, {Program: "/it's"}, {Program: "/a\nExecStartPre=/bin/x"}, {Program: "/a\xff"},
		{Program: "/a", User: "root\nGroup=x"}, {Program: "/a", Args: []string{"a\nb"}}, {Program: "/a", Env: []Variable{{"X", "a\nUser=root"}}}, {Program: "/a", Env: []Variable{{"X\n", "a"}}},
	} {
		if text, err := Text(o); err == nil {
			t.Errorf("%q made\n%s", o, text)
		}
	}
}

func TestOrigin(t *testing.T) {
	text := Marked("[Unit]\nA=b\n")
	for given, want := range map[string]Origin{text: Ours, text + "C=d\n": Edited, strings.Replace(text, "A=b", "A=c", 1): Edited, "[Unit]\n": Other, "": Other, mark: Edited} {
		if got := OriginOf(given); got != want {
			t.Errorf("%q is %s, want %s", given, got, want)
		}
	}
}

// systemd itself takes what is written, odd paths and all.
func TestSystemdTakesIt(t *testing.T) {
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here (apt: systemd)")
	}
	dir := filepath.Join(t.TempDir(), `my odd 100% tools`)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "custos")
	if err := os.WriteFile(exe, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"user":   {Program: exe, Args: []string{"--config", "/a b/$c/%d"}, Env: []Variable{{"PATH", "/usr/bin:/opt/a b/bin"}, {"LANG", `C "x" \ %h $y`}}},
		"system": {User: "root", Program: exe, Env: []Variable{{"PATH", "/usr/bin"}}},
	} {
		text, err := Text(o)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), Name)
		if err := os.WriteFile(file, []byte(Marked(text)), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(program, "verify", "--man=no", file).CombinedOutput()
		if err != nil || strings.Contains(string(out), filepath.Dir(file)) || strings.Contains(string(out), Name) {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, text)
		}
	}
}

// The page on services shows the unit that is written.
func TestThePageShowsIt(t *testing.T) {
	text, err := Text(Options{Program: "/home/me/.local/lib/custos/custos", Env: []Variable{{"PATH", "/home/me/.local/bin:/usr/local/bin:/usr/bin:/bin"}, {"LANG", "C.UTF-8"}}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/service.md")
	if err != nil || !strings.Contains(string(page), "```ini\n"+text+"```\n") {
		t.Errorf("%v; the page has not:\n%s", err, text)
	}
}
