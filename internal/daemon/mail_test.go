package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/api"
)

// mailTown is a town whose agents find custos, and its configuration, by themselves.
func mailTown(t *testing.T) *town {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	w := newTown(t, "[agents]\nevery = \"1s\"\n[mail.worker_done]\nwork = \"close\"\n")
	folder := filepath.Join(w.dir, ".config/custos")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(w.dir, "custos.toml"), filepath.Join(folder, "custos.toml")); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *town) mail(to, subject string) api.Mail {
	w.Helper()
	m, err := w.client().SendMail(w.Context(), api.MailRequest{To: []string{to}, Subject: subject})
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// mailState is how far the copy of a mail got.
func (w *town) mailState(id, reader string) (state string, told int) {
	list, err := w.client().Mails(w.Context(), reader, true)
	if err != nil {
		w.Fatal(err)
	}
	i := slices.IndexFunc(list.Mail, func(m api.Mail) bool { return m.ID == id })
	if i < 0 {
		return "", 0
	}
	return list.Mail[i].State, list.Mail[i].Copies[0].Told
}

func (w *town) awaitMail(id, reader, state string) (told int) {
	w.Helper()
	is := ""
	await(w.T, func() string {
		return fmt.Sprintf("%s is %q for %s, want %s\n%s\n%s", id, is, reader, state, w.log(), w.said)
	}, func() bool {
		is, told = w.mailState(id, reader)
		return is == state
	})
	return told
}

// log is what the fake agents wrote down of what they were told.
func (w *town) log() string {
	b, _ := os.ReadFile(filepath.Join(w.dir, ".fakeagent/log.jsonl"))
	return string(b)
}

// noted counts the lines of the log of one kind that hold some words.
func (w *town) noted(kind, words string) (n int) {
	for line := range strings.SplitSeq(w.log(), "\n") {
		if strings.Contains(line, `"`+kind+`"`) && strings.Contains(line, words) {
			n++
		}
	}
	return n
}

// TestMailReachesAgents: mail is typed to an agent that is idle, once; one that works
// is told by its hook and nothing is typed; what a person has half-written is never
// added to. In each case the agent itself acknowledges by custos mail read.
func TestMailReachesAgents(t *testing.T) {
	w := mailTown(t)
	control := filepath.Join(w.dir, "control")
	if err := os.WriteFile(control, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.spawnArgv("one", "claude", "--fake", "mail", "--control", control)
	w.awaitState("one", "idle")

	idle := w.mail("one", "told while it is idle")
	told := w.awaitMail(idle.ID, "one", "read")
	await(t, w.log, func() bool { return w.noted("mail", idle.ID) > 0 }) // it notes that it has read after it has
	if told != 1 || w.noted("prompt", idle.ID) != 1 || w.noted("mail", idle.ID) != 1 {
		t.Errorf("told %d times\n%s", told, w.log())
	}

	w.tell(control, "tool 2s; tool 1s; reply done")
	await(t, w.log, func() bool { return w.noted("prompt", "tool 2s") > 0 }) // it worked on the mail before
	w.awaitState("one", "working")
	busy := w.mail("one", "told while it works")
	told = w.awaitMail(busy.ID, "one", "read")
	await(t, w.log, func() bool { return w.noted("mail", busy.ID) > 0 })
	if told != 1 || w.noted("prompt", busy.ID) != 0 || w.noted("context", busy.ID) != 1 || w.noted("mail", busy.ID) != 1 {
		t.Errorf("told %d times\n%s", told, w.log())
	}
	w.awaitState("one", "idle")

	w.tell(control, "half rm -rf, or rather")
	await(t, w.screen, func() bool { return strings.Contains(w.screen(), "or rather") })
	held := w.mail("one", "not before you have sent that")
	for range 4 { // whole passes, each with a new look
		if _, err := w.client().Patrol(t.Context(), api.PatrolOrder{}); err != nil {
			t.Fatal(err)
		}
	}
	if state, told := w.mailState(held.ID, "one"); state != "new" || w.noted("prompt", held.ID) != 0 || !strings.Contains(w.screen(), "rm -rf, or rather") {
		t.Errorf("%s, told %d times\n%s\n%s", state, told, w.log(), w.screen())
	}
	w.tell(control, "half")
	if told := w.awaitMail(held.ID, "one", "read"); told != 1 || w.noted("prompt", held.ID) != 1 {
		t.Errorf("told %d times\n%s", told, w.log())
	}
}

func (w *town) screen() string {
	s, err := w.client().Screen(w.Context(), "one", 40)
	if err != nil {
		return err.Error()
	}
	return s.Text
}

// tell appends to the control file of a fake agent.
func (w *town) tell(file, line string) {
	w.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		_ = f.Close()
	}
	if err != nil {
		w.Fatal(err)
	}
}
