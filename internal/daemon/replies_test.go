package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/sys/matrixtest"
)

const (
	opsRoom = "!ops:fake"
	botUser = "@custos:fake"
	ann     = "@ann:fake"
	eve     = "@eve:fake"
)

// chatTown is a town whose people are in a room. What may be done there takes their
// approval.
type chatTown struct {
	*town
	h     *matrixtest.Homeserver
	locks string
}

const chatRules = `[rule.lock-dead-idle]
priority = "P2"
mode = "ask"
cooldown = "1s"
[rule.agent-waiting]
expr = "agent.state == 'waiting' && agent.dwell > duration('1s')"
[agents]
every = "1s"
[limits]
stagger = "0s"
spawn_memory = "0"
[notifier.ops]
type = "matrix"
server = %q
room = "!ops:fake"
token_file = %q
replies_from = ["@ann:fake"]
[route.ops]
to = ["ops"]
group_wait = "1s"
group_interval = "0s"
[locks]
foreign_namespace = false
every = "1s"
globs = [%q]
`

func newChatTown(t *testing.T, more ...string) *chatTown {
	h := matrixtest.New(t)
	key := h.User(botUser, "bot")
	h.User(ann, "secret")
	h.User(eve, "secret")
	h.Room(opsRoom, botUser, ann, eve)
	h.Room("!other:fake", botUser, ann, eve)
	h.Say(opsRoom, ann, matrixtest.Text("freeze")) // from before: nobody heeds it
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &chatTown{newTown(t, fmt.Sprintf(chatRules, h.URL, file, filepath.Join(dir, "*.lock"))+strings.Join(more, "")), h, dir}
}

// leave leaves a lock behind, whose process is gone, and has it judged.
func (w *chatTown) leave(name string) string {
	w.Helper()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		w.Fatal(err)
	}
	path := filepath.Join(w.locks, name)
	if err := os.WriteFile(path, []byte(strconv.Itoa(gone.Process.Pid)+"\n"), 0o600); err != nil {
		w.Fatal(err)
	}
	w.judged("lock-dead-idle", "lock/"+path)
	return path
}

// bodies are what Custos has said in the room.
func (w *chatTown) bodies() (out []string) {
	for _, e := range w.h.Events(opsRoom) {
		if body, ok := e.Content["body"].(string); ok && e.Sender == botUser {
			out = append(out, body)
		}
	}
	return out
}

// heard waits until Custos has said something that matches, after so many messages,
// and returns the match.
func (w *chatTown) heard(after int, pattern string) []string {
	w.Helper()
	re := regexp.MustCompile(`(?s)` + pattern)
	var m []string
	await(w.T, func() string { return fmt.Sprintf("no %q in %q\n%s", pattern, w.bodies(), w.said) }, func() bool {
		if list := w.bodies(); len(list) > after {
			for _, b := range list[after:] {
				if m = re.FindStringSubmatch(b); m != nil {
					return true
				}
			}
		}
		return false
	})
	return m
}

// says has somebody say something, and waits for the answer when one is wanted.
func (w *chatTown) says(user, text, want string) []string {
	w.Helper()
	n := len(w.bodies())
	w.h.Say(opsRoom, user, matrixtest.Text(text))
	if want == "" {
		return nil
	}
	return w.heard(n, want)
}

func (w *chatTown) there(path string) bool { _, err := os.Lstat(path); return err == nil }

// TestApprovalByChat: from a finding of P2 to the message, to approve N, to the
// action, to the all-clear; and nobody else, and nothing else, leads there.
func TestApprovalByChat(t *testing.T) {
	w := newChatTown(t)
	if w.there(filepath.Join(w.dir, "s", "frozen")) {
		t.Fatal("what was said before the start was acted on")
	}
	lock := w.leave("a.lock")
	m := w.heard(0, `#(\d+): approve \d+ has this done, deny \d+ leaves it:\n- remove-lock lock/(\S+)\n- runs: mv -n (\S+) `)
	n := m[1]
	if m[2] != lock || m[3] != lock {
		t.Errorf("asked about %q", m)
	}
	w.says(eve, "approve "+n, "") // a stranger
	w.h.Say("!other:fake", ann, matrixtest.Text("approve "+n))
	w.h.Say(opsRoom, ann, map[string]any{"msgtype": "m.text", "body": "* approve " + n, "m.new_content": matrixtest.Text("approve " + n),
		"m.relates_to": map[string]any{"rel_type": "m.replace", "event_id": "$e0"}})
	w.h.Say(opsRoom, ann, matrixtest.Text("approve "+n+"\x1b[2J"))
	w.h.Say(opsRoom, botUser, matrixtest.Text("approve "+n))
	w.says(ann, "status", `agents: .*alerts: 1 × P2`)
	w.says(ann, "what's stuck?", `#`+n+` \[P2\] `)
	w.says(ann, "approve 999", `Not acted on your reply: approve 999: no alert 999`)
	w.says(ann, "hello", `I did not understand that.*approve N`)
	w.says(ann, "rm -rf /; approve "+n, "") // told lately
	w.says(ann, "freeze", `Acted on your reply: freeze`)
	w.says(ann, "approve "+n, `Not acted on your reply: approve `+n+`: .*frozen`)
	w.says(ann, "thaw", `Acted on your reply: thaw: it was frozen by @ann:fake`)
	if !w.there(lock) {
		t.Fatalf("the lock is gone before anybody who may approved: %q", w.bodies())
	}
	told := len(w.bodies())
	w.says(ann, "approve "+n, `Acted on your reply: approve `+n+`: begun: remove-lock`)
	w.heard(told, `all clear`)
	if w.there(lock) {
		t.Error("the lock is still there")
	}
	w.says(ann, "approve "+n, `Not acted on your reply: approve `+n+`: .*over`)
	t.Run("the journal has it", func(t *testing.T) { w.journalled(t) })
	t.Run("once across kill -9", func(t *testing.T) { w.remembers(t) })
	t.Run("deny", func(t *testing.T) { w.denies(t) })
}

// journalled has a patrol made, and reads in its entry who said what.
func (w *chatTown) journalled(t *testing.T) {
	w.says(ann, "status", `agents: `)
	var text string
	await(t, func() string { return text }, func() bool {
		if _, err := w.client().Patrol(t.Context(), api.PatrolOrder{}); err != nil {
			return false
		}
		all, err := w.client().Journal(t.Context(), "")
		text = all.Text
		return err == nil && strings.Contains(text, "@ann:fake: Acted on your reply: freeze")
	})
}

// remembers kills the daemon: nothing that was said is heard again, and what is said
// while it is away is.
func (w *chatTown) remembers(t *testing.T) {
	before := len(w.bodies())
	w.kill()
	w.h.Say(opsRoom, ann, matrixtest.Text("ack 1"))
	w.start()
	w.heard(before, `reply: ack 1: `)
	w.says(ann, "help", `status · stuck`)
	for _, b := range w.bodies()[before:] {
		if strings.Contains(b, "freeze:") || strings.Contains(b, "approve 9") || strings.Contains(b, "thaw:") {
			t.Errorf("answered again: %q", b)
		}
	}
}

// denies leaves it alone, and the same answer is not good for the opposite later.
func (w *chatTown) denies(t *testing.T) {
	before := len(w.bodies())
	lock := w.leave("b.lock")
	n := w.heard(before, `#(\d+): approve`)[1]
	w.says(ann, "deny "+n, `Acted on your reply: deny `+n+`: it is left`)
	w.says(ann, "approve "+n, `Not acted on your reply: approve `+n+`: .*was answered`)
	if !w.there(lock) {
		t.Error("the lock is gone")
	}
}

// TestPermissionByChat: an agent asks for permission; a person reads what for, and
// answers from afar. A second dialog takes a second answer.
func TestPermissionByChat(t *testing.T) {
	w := newChatTown(t)
	w.spawn("asker", "dialog touch proof; dialog rm other; print done", false)
	m := w.heard(0, `#(\d+): agent asker asks: Do you want to proceed\?\n- tool: Bash command\n- [^\n]*touch proof[^\n]*\n- approve (\d+) answers "Yes", deny`)
	n := m[1]
	w.says(eve, "approve "+n, "")
	told := len(w.bodies())
	w.says(ann, "approve "+n, `Acted on your reply: approve `+n+`: agent asker is answered "yes"`)
	// The next one is asked anew: the answer that was given is not good for it.
	n = w.heard(told, `#(\d+): agent asker asks: Do you want to proceed\?\n- tool: Bash command\n- [^\n]*rm other`)[1]
	if got := w.answers(t); got != "1" {
		t.Errorf("the agent was answered %q", got)
	}
	w.says(ann, "deny "+n, `Acted on your reply: deny `+n+`: agent asker is answered "no"`)
	await(t, func() string { return fmt.Sprintf("%+v\n%q\n%s", w.row(t, "asker"), w.bodies(), w.said) }, func() bool { return w.row(t, "asker").State != "waiting" })
	if got := w.answers(t); got != "1 3" {
		t.Errorf("the agent was answered %q", got)
	}
	w.says(ann, "approve "+n, `Not acted on your reply: approve `+n+`: `)
	w.says(ann, "stop asker", `Acted on your reply: stop asker: `)
	await(t, func() string { return fmt.Sprintf("%+v\n%s", w.row(t, "asker"), w.said) }, func() bool { return w.row(t, "asker").PID == 0 })
}

// answers are the keys that the agents of this town noted as answers.
func (w *chatTown) answers(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, ".fakeagent", "log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, m := range regexp.MustCompile(`"answer"[^\n]*?"(1|2|3|esc)"`).FindAllStringSubmatch(string(b), -1) {
		keys = append(keys, m[1])
	}
	return strings.Join(keys, " ")
}

func (w *chatTown) row(t *testing.T, name string) api.AgentRow {
	t.Helper()
	list, err := w.client().Agents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list.Agents {
		if a.Name == name {
			return a
		}
	}
	return api.AgentRow{}
}

// TestIndependentClient: matrix-nio, which nobody here has written, is the person.
func TestIndependentClient(t *testing.T) {
	const python = "/usr/bin/python3" // Debian's, with its packages
	if out, err := exec.Command(python, "-c", "import nio").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: the approval by an independent Matrix client: python3-matrix-nio is not there: %v %s", err, out)
	}
	w := newChatTown(t)
	lock := w.leave("nio.lock")
	person := exec.Command("timeout", "90", python, "testdata/person.py", w.h.URL, ann, "secret", opsRoom)
	person.Env = append(os.Environ(), "HOME="+w.dir)
	out, err := person.CombinedOutput()
	if err != nil {
		t.Fatalf("the person: %v\n%s\nheard: %q\n%s", err, out, w.bodies(), w.said)
	}
	for _, want := range []string{"asked: ", "answered: Acted on your reply: approve ", "all clear"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in what the person saw:\n%s", want, out)
		}
	}
	if w.there(lock) {
		t.Error("the lock is still there")
	}
}
