package catalog

import (
	"fmt"
	"strings"
	"testing"
)

func TestReplySections(t *testing.T) {
	p, err := people(t, `
[notifier.ops]
type = "matrix"
server = "https://m"
room = "!r:m"
token_env = "A"
replies_from = ["@ann:m", "@bob:other.example"]
[notifier.phone]
type = "telegram"
chat = "-100"
token_env = "B"
replies_from = ["12345678"]
[notifier.silent]
type = "matrix"
server = "https://m"
room = "!s:m"
token_env = "A"
[replies]
spool = "~/spool"
`, map[string]string{"A": "x", "B": "y"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range p.Ears {
		at := e.Place()
		got = append(got, fmt.Sprintf("%s %s %d asks %v", at.Name, at.Room[strings.LastIndex(at.Room, "/")+1:], len(at.People), at.Asks))
	}
	if want := "ops !r:m 2 asks true; phone -100 1 asks true; spool/supervisor spool 1 asks false"; strings.Join(got, "; ") != want {
		t.Errorf("%q, want %q", strings.Join(got, "; "), want)
	}
}

func TestBadReplySections(t *testing.T) {
	const matrix = "[notifier.a]\ntype = \"matrix\"\nserver = \"https://m\"\nroom = \"!r:m\"\ntoken_env = \"A\"\n"
	const telegram = "[notifier.a]\ntype = \"telegram\"\nchat = \"-1\"\ntoken_env = \"A\"\n"
	for text, want := range map[string]string{
		matrix + "replies_from = [\"ann\"]\n":    `[notifier.a] replies_from: "ann" is no user of Matrix`,
		matrix + "replies_from = [\"@ann\"]\n":   "is no user of Matrix",
		matrix + "replies_from = [\"*\"]\n":      "is no user of Matrix",
		telegram + "replies_from = [\"@ann\"]\n": `"@ann" is no ID of a user of Telegram`,
		// The Bot API gives what is said to one who asks: the other is sent away, and what one
		// has heard is forgotten for both.
		telegram + "replies_from = [\"1\"]\n[notifier.b]\ntype = \"telegram\"\nchat = \"-2\"\ntoken_env = \"A\"\nreplies_from = [\"2\"]\n": `[notifier.b] replies_from: [notifier.a] listens by the same bot`,
		strings.Replace(telegram, "-1", "@c", 1) + "replies_from = [\"1\"]\n":                                                              "chat: want its ID",
		"[notifier.a]\ntype = \"command\"\nrun = [\"x\"]\nreplies_from = [\"1\"]\n":                                                        "matrix and telegram only",
		"[replies]\nspool = \"relative\"\n":            "[replies] spool: ",
		"[replies]\nspool = \"/x\"\nname = \"../x\"\n": "[replies] name: ",
		"[replies]\nspol = \"/x\"\n":                   `unknown key "spol" in [replies], did you mean "spool"?`,
	} {
		if _, err := people(t, text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
