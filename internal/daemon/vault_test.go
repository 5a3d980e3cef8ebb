package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const vaultRules = `[rule.vault-item-waits]
expr = "vault.state == 'pending'"
cooldown = "1s"
[vault.ops]
folder = %q
every = "1s"
`

// vaultTown is a chat town with a vault.
type vaultTown struct {
	*chatTown
	vault string
}

func newVaultTown(t *testing.T) vaultTown {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"pending", "approved", "rejected"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return vaultTown{newChatTown(t, fmt.Sprintf(vaultRules, dir)), dir}
}

// file has an agent ask for something.
func (w vaultTown) file(name, text string) {
	w.Helper()
	temp := filepath.Join(w.vault, name)
	if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
	if err := os.Rename(temp, filepath.Join(w.vault, "pending", name)); err != nil {
		w.Fatal(err)
	}
}

// lie is where the items of the vault are, with what they say.
func (w vaultTown) lie() string {
	w.Helper()
	paths, err := filepath.Glob(w.vault + "/*/*")
	if err != nil {
		w.Fatal(err)
	}
	var out []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err.Error() // it is just moved
		}
		out = append(out, filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path)+": "+strings.TrimSpace(string(text)))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func (w vaultTown) awaitLie(want string) {
	w.Helper()
	await(w.T, func() string { return w.lie() + "\n" + w.said.String() + strings.Join(w.bodies(), "\n") }, func() bool { return w.lie() == want })
}

// asked is the number of the alert in which people are asked about an item, of what was said
// after so many messages, and the digest that they are shown.
func (w vaultTown) asked(after int, name string) (number, digest string) {
	w.Helper()
	m := w.heard(after, `#(\d+): approve \d+ has this done:\n- approve-vault-item vault/ops/pending/`+name+`\n.*?SHA-256 ([0-9a-f]{64})\n.*?- deny \d+ has this done instead:\n- reject-vault-item`)
	return m[1], m[2]
}

// TestVaultByChat: what an agent asks for waits until a person whom the chat vouches for
// says yes or no to just that: it is moved once, as it was shown, and by nobody else.
func TestVaultByChat(t *testing.T) {
	w := newVaultTown(t)
	w.file("ship.toml", "id = \"ship\"\nformula = \"publish\"\ncontext = \"0.3.0, token=hunter2hunter2\"\nsecrets = [\"NPM_TOKEN\"]\npayload = \"private words\"\n")
	n, first := w.asked(0, "ship.toml")
	said := strings.Join(w.bodies(), "\n")
	if !strings.Contains(said, "says: publish: 0.3.0") || !strings.Contains(said, "asks for the secrets NPM_TOKEN") || strings.Contains(said, "hunter2") || strings.Contains(said, "private words") {
		t.Errorf("asked in these words: %s", said)
	}
	out, _ := w.town.says()
	if !strings.Contains(out, "NEEDS YOU") || !strings.Contains(out, "ops/pending/ship.toml has waited for a person") || !strings.Contains(out, " why vault/ops/pending/ship.toml") {
		t.Errorf("the first look: %s", out)
	}
	if out, _ := w.town.says("why", n); !strings.Contains(out, " approve "+n+" --digest "+first[:12]) || !strings.Contains(out, " deny "+n+" --digest "+first[:12]) {
		t.Errorf("its story does not say how to answer: %s", out)
	}

	w.says(eve, "approve "+n, "") // a stranger
	for _, words := range [][]string{{"approve", n, "--digest", first}, {"patrol", "--apply"}} {
		agent := exec.Command(filepath.Join(w.bin, "custos"), append([]string{"--config", filepath.Join(w.dir, "custos.toml")}, words...)...)
		agent.Env = append(os.Environ(), "CUSTOS_AGENT=cheat:copied")
		if out, err := agent.CombinedOutput(); err == nil || !refusedForWhoAsks(string(out)) {
			t.Errorf("an agent's %q: %v %s", words, err, out)
		}
	}
	w.town.says("patrol", "--apply") // a person's word, but not for this
	if out, code := w.town.says("approve", n); code == 0 || !strings.Contains(out, "digest") {
		t.Errorf("by its number alone: %d %s", code, out)
	}
	if got := w.lie(); !strings.HasPrefix(got, "pending/ship.toml: ") {
		t.Fatalf("moved without a person's word: %s", got)
	}

	// What was shown is not what lies there any more: it is asked anew.
	before := len(w.bodies())
	w.file("ship.toml", "formula = \"evil\"\n")
	w.says(ann, "approve "+n, `Not acted on your reply: approve|replaced or written to|not what was shown`)
	if out, code := w.town.says("approve", n, "--digest", first); code == 0 {
		t.Errorf("what lay there is approved of: %s", out)
	}
	n, _ = w.asked(before, "ship.toml")
	if got := w.lie(); got != `pending/ship.toml: formula = "evil"` {
		t.Fatalf("what was not shown was moved: %s", got)
	}
	w.says(ann, "deny "+n, `Acted on your reply: deny `+n+`: begun: reject-vault-item`)
	w.awaitLie(`rejected/ship.toml: formula = "evil"`)
	w.heard(before, `all clear`)

	w.file("mail.md", "# A mail account")
	n, _ = w.asked(before, "mail.md")
	told := len(w.bodies())
	w.says(ann, "approve "+n, `Acted on your reply: approve `+n+`: begun: approve-vault-item`)
	w.kill() // wherever it is
	w.start()
	const there = `approved/mail.md: # A mail account; rejected/ship.toml: formula = "evil"`
	if w.lie() != there { // it was not begun: then it is asked anew
		await(t, func() string { return w.lie() + w.said.String() }, func() bool {
			return w.lie() == there || slices.ContainsFunc(w.bodies()[told:], func(b string) bool { return strings.Contains(b, "approve "+n+" has this done") })
		})
	}
	if w.lie() != there {
		w.says(ann, "approve "+n, `Acted on your reply: approve `)
	}
	w.awaitLie(there)
	w.says(ann, "approve "+n, `Not acted on your reply: approve `+n)
	w.awaitLie(there)
}

// TestVaultAtTheKeyboard: with the digest that was shown a person approves there, too; many
// items are one message.
func TestVaultAtTheKeyboard(t *testing.T) {
	w := newVaultTown(t)
	for i := range 30 {
		w.file(fmt.Sprintf("i%02d.md", i), fmt.Sprintf("# Item %d", i))
	}
	w.heard(0, `i\d\d\.md`)
	if got := w.bodies(); len(got) > 3 {
		t.Errorf("%d messages of thirty items: %q", len(got), got)
	}
	w.judged("vault-item-waits", "vault/ops/pending/i07.md")
	out, _ := w.town.says("why", "vault/ops/pending/i07.md")
	command := regexp.MustCompile(`approve \d+ --digest [0-9a-f]{12}`).FindString(out)
	if command == "" {
		t.Fatalf("its story: %s", out)
	}
	if out, code := w.town.says(strings.Fields(command)...); code != 0 {
		t.Fatalf("%q: %d %s", command, code, out)
	}
	await(t, w.said.String, func() bool { _, err := os.Lstat(filepath.Join(w.vault, "approved/i07.md")); return err == nil })
	if _, err := os.Lstat(filepath.Join(w.vault, "pending/i07.md")); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	if out, code := w.town.says("deny", "1"); code == 0 || !strings.Contains(out, "digest") {
		t.Errorf("denied by its number alone: %d %s", code, out)
	}
	if left, _ := filepath.Glob(w.vault + "/pending/*"); len(left) != 29 {
		t.Errorf("%d are left", len(left))
	}
}
