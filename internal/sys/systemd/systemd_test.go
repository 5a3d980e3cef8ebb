package systemd

import (
	"errors"
	"strings"
	"testing"

	"custos/internal/sys/systemdtest"
)

func TestInService(t *testing.T) {
	type is struct {
		name string
		user bool
	}
	for text, want := range map[string]is{
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/custos.service\n":             {"custos.service", true},
		"0::/system.slice/custos.service\n":                                                       {"custos.service", false},
		"12:pids:/x\n1:name=systemd:/system.slice/custos.service\n0::/\n":                         {"custos.service", false},
		"1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n0::/a.service\n":             {},
		"0::/user.slice/user-1000.slice/session-3.scope\n":                                        {},
		"0::/user.slice/user-1000.slice/user@1000.service/init.scope\n":                           {},
		"0::/user.slice/user-1000.slice/user@1000.service\n":                                      {},
		"0::/user.slice/user-7.slice/user@7.service/app.slice/custos.service\n":                   {"custos.service", false},
		"9:name=systemd:/\n8:pids:/\n0::/user.slice/user@1000.service/app.slice/custos.service\n": {"custos.service", true},
		"0::/\n": {}, "": {}, "0::/docker/abc\n": {},
	} {
		if name, user := InService(text, 1000); (is{name, user}) != want {
			t.Errorf("%q: %s %v", text, name, user)
		}
	}
}

// What a manager says is read whatever the order of its lines; what is no answer is an error.
func TestShow(t *testing.T) {
	m := systemdtest.New(t, t.TempDir())
	r := NewReader(Options{User: true, Root: m.Root, Getenv: func(string) string { return "" }})
	u, err := r.Show(t.Context(), "custos.service")
	if err != nil || u.Load != "not-found" || u.PID != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	m.Put("user/loaded", "[Service]\nType=notify\nKillMode=process\nExecStart=/a/c up\n")
	m.Put("user/active", "12")
	u, err = r.Show(t.Context(), "custos.service")
	if err != nil || u.PID != 12 || u.Active != "active" || u.KillMode != "process" || u.Program != "/a/c" {
		t.Errorf("%+v, %v", u, err)
	}
	if got := programOf("{ path=/opt/a b/custos ; argv[]=/opt/a b/custos up ; ignore_errors=no }"); got != "/opt/a b/custos" {
		t.Error(got)
	}
	m.Put("user/refuses", "Failed to connect to bus: No medium found\n")
	if _, err := r.Show(t.Context(), "custos.service"); err == nil || !strings.Contains(err.Error(), "No medium found") {
		t.Error(err)
	}
	if _, err := NewReader(Options{Root: t.TempDir()}).Show(t.Context(), "custos.service"); !errors.Is(err, ErrAbsent) {
		t.Error(err)
	}
}

func TestLingers(t *testing.T) {
	m := systemdtest.New(t, t.TempDir())
	r := NewReader(Options{User: true, Root: m.Root})
	if _, err := r.Lingers(t.Context(), "me"); err == nil {
		t.Error("of who is not logged in it is known")
	}
	for said, want := range map[string]bool{"yes\n": true, "no\n": false} {
		m.Put("linger", said)
		if got, err := r.Lingers(t.Context(), "me"); err != nil || got != want {
			t.Errorf("%q: %v, %v", said, got, err)
		}
	}
	m.Put("linger", "perhaps\n")
	if _, err := r.Lingers(t.Context(), "me"); err == nil {
		t.Error("perhaps is an answer")
	}
}
