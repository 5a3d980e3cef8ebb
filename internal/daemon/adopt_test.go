package daemon_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAdoptIsShownAtOnce: when the command has ended, whoever asks next is told that the
// agent is adopted, though the next look by the clock is an hour away; and it may be
// stopped, which of a stranger it may not.
func TestAdoptIsShownAtOnce(t *testing.T) {
	w := &abroad{town: foundTown(t, "")}
	w.socket = filepath.Join(w.dir, "their.sock")
	text := "mode = \"auto\"\ngrace = \"0s\"\nstate_dir = \"" + w.dir + "/s\"\n[agents]\nevery = \"1h\"\n[tmux]\nsockets = [\"" + w.socket + "\"]\n"
	if err := os.WriteFile(filepath.Join(w.dir, "custos.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.cfg = load(t, w.dir)
	w.theirs("guest", filepath.Join(w.dir, "work"), "work 1h")
	w.start()
	var name string
	await(t, w.said.String, func() bool {
		all, err := w.client().Agents(t.Context())
		if err != nil || len(all.Agents) != 1 {
			return false
		}
		name = all.Agents[0].Name
		return !all.Agents[0].Registered && all.Agents[0].PID != 0
	})
	if out, code := w.says("stop", name, "--wait", "0"); code == 0 {
		t.Fatalf("a stranger was stopped: %s", out)
	}
	if out, code := w.says("adopt", name); code != 0 {
		t.Fatalf("adopt: %d %s", code, out)
	}
	a := w.agent(name)
	if !a.Registered || a.Owner != "adopted" {
		t.Fatalf("right after adopt it is %+v", a)
	}
	if out, code := w.says("adopt", name); code != 2 {
		t.Errorf("adopted twice: %d %s", code, out)
	}
	if out, code := w.says("stop", name); code != 0 || runs(a.PID) {
		t.Errorf("stop: %d %s", code, out)
	}
}
