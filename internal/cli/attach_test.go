package cli

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
)

// Inside tmux an agent of the same server is switched to; one of another server, and any from a
// window above all others, is shown there by a client of its own.
func TestAttachFromInsideTmux(t *testing.T) {
	here := api.AgentDetail{Agent: api.AgentRow{Name: "a", Socket: "/tmp/x/default"}, Attach: []string{"tmux", "attach", "-t", "=a"}}
	other := api.AgentDetail{Agent: api.AgentRow{Name: "b", Socket: "/run/my custos/tmux.sock"}, Attach: []string{"tmux", "-S", "/run/my custos/tmux.sock", "attach", "-t", "=b"}}
	far := api.AgentDetail{Agent: api.AgentRow{Name: "c"}, Attach: []string{"ssh", "-t", "--", "box", "custos", "attach", "c"}}
	for name, k := range map[string]struct {
		tmux, pane string
		d          api.AgentDetail
		want       []string
	}{
		"outside":                           {"", "", other, other.Attach},
		"the same server":                   {"/tmp/x/default,12,0", "%1", here, []string{"tmux", "switch-client", "-t", "=a"}},
		"the same server, from a window":    {"/tmp/x/default,12,0", "", here, nested(here, "C-b d")},
		"another server":                    {"/tmp/x/default,12,0", "%1", other, nested(other, "C-a C-a d")},
		"another server, from a window":     {"/tmp/x/default,12,0", "", other, nested(other, "C-b d")},
		"another machine, whatever is here": {"/tmp/x/default,12,0", "%1", far, far.Attach},
	} {
		if got := fromTmux(k.tmux, k.pane, k.d, func(tmux []string) string {
			return map[bool]string{true: "C-b", false: "C-a"}[k.pane == ""]
		}); !slices.Equal(got, k.want) {
			t.Errorf("%s: %q, want %q", name, got, k.want)
		}
	}
	if got := wayBack("C-b", "C-a"); got != "C-b d" {
		t.Errorf("a tmux whose prefix is another one takes it itself: %q", got)
	}
}

// In a pane of a person's own tmux, on a real one: what attach becomes shows the agent of another
// server there, says how to come back, and ends when that is typed.
func TestAttachInsideAnotherTmux(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	on := func(socket string, args ...string) string {
		out, err := exec.CommandContext(ctx, "tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	agents, own := filepath.Join(dir, "agents"), filepath.Join(dir, "own")
	for _, socket := range []string{agents, own} {
		on(socket, "new-session", "-d", "-s", "b", "-x", "80", "-y", "24", "cat", ";", "set-option", "-g", "remain-on-exit", "on")
		t.Cleanup(func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() })
	}
	on(own, "set-option", "-g", "prefix", "C-a")
	on(agents, "set-hook", "-g", "client-attached", "wait-for -S came", ";", "set-hook", "-g", "client-detached", "wait-for -S left")
	d := api.AgentDetail{Agent: api.AgentRow{Name: "b", Socket: agents}, Attach: []string{"tmux", "-S", agents, "attach", "-t", "=b"}}
	pane := on(own, "display-message", "-p", "#{pane_id}")
	argv := fromTmux(own+",1,0", pane, d, prefixOf(ctx))
	if said := argv[len(argv)-1]; !strings.Contains(said, "C-b d leads back") {
		t.Errorf("it says %q", said)
	}
	// The pane itself says how it ended: tmux 3.3a now and then leaves the dead process of a pane
	// unburied, and then neither runs pane-died nor knows its status.
	tells := []string{"sh", "-c", `"$@"; tmux -S "$0" set-option -g @rc $?; exec tmux -S "$0" wait-for -S over`, own}
	on(own, append([]string{"respawn-pane", "-k", "-t", pane, "--"}, quoted(append(tells, argv...))...)...)
	on(agents, "wait-for", "came")
	on(own, "send-keys", "-t", pane, "C-b", "d")
	on(agents, "wait-for", "left")
	on(own, "wait-for", "over")
	if rc := on(own, "display-message", "-p", "#{@rc}"); rc != "0" {
		t.Errorf("it ended with %s:\n%s", rc, on(own, "capture-pane", "-p", "-t", pane))
	}
}

// quoted keeps a tmux that is told of a command from taking its semicolons for its own.
func quoted(argv []string) (out []string) {
	for _, a := range argv {
		if a == ";" {
			a = `\;`
		}
		out = append(out, a)
	}
	return out
}

// Where nothing can be attached to it is said why, and what helps.
func TestAttachSaysWhatIsInTheWay(t *testing.T) {
	for _, k := range []struct {
		d          api.AgentDetail
		says, hint string
	}{
		{api.AgentDetail{}, "it has no terminal that is seen", "custos peek a"},
		{api.AgentDetail{TerminalStopped: 12}, "its terminal server (process 12) is stopped by a signal", "kill -CONT 12"},
	} {
		_, e := classify(unattachable("a", k.d))
		if !strings.Contains(e.Message, "cannot attach to a: "+k.says) || e.Hint != k.hint {
			t.Errorf("%q → %q, want %q → %q", e.Message, e.Hint, k.says, k.hint)
		}
	}
	if err := unattachable("a", api.AgentDetail{Attach: []string{"tmux"}}); err != nil {
		t.Error(err)
	}
}

// A name that begins as that of another machine would, which there is not, is said to.
func TestANameOfNoHost(t *testing.T) {
	a := &app{noHost: "box9"}
	if got := a.orHost("cannot nudge box9/x: there is no agent box9/x"); !strings.HasSuffix(got, "; nor is there a host box9: custos.toml has no section [host.box9]") {
		t.Error(got)
	}
	if got := a.orHost("the ledger is full"); got != "the ledger is full" {
		t.Error(got)
	}
}
