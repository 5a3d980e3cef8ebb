package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing is heard without a secret, not even on loopback.
func TestBadWebhook(t *testing.T) {
	for text, want := range map[string]string{
		"[webhook]\nlisten = \"127.0.0.1:1\"\n":                                             "custos.toml:1: [webhook] secret_file, secret_command, secret_env: want exactly one",
		"[webhook]\nlisten = \"0.0.0.0:1\"\n":                                               "want exactly one",
		"\n[webhook]\nlisten = \"127.0.0.1:1\"\nsecret_file = \"/x\"\nsecret_env = \"X\"\n": "custos.toml:4: [webhook] secret_file, secret_command, secret_env: want exactly one",
		"[webhook]\nlisten = \"127.0.0.1:1\"\nsecret_file = \"x\"\n":                        "[webhook] secret_file: ",
		"[webhook]\nsecret_env = \"X\"\n":                                                   "listen: want an address",
		"[webhook]\nlisten = \"9912\"\nsecret_env = \"X\"\n":                                "no address like",
		"[webhook]\nlisten = \"127.0.0.1:0\"\nsecret_env = \"X\"\n":                         "no address like",
		"[webhook]\nlisten = \"127.0.0.1:1\"\nsecert_env = \"X\"\n":                         `custos.toml:3: unknown key "secert_env" in [webhook], did you mean "secret_env"?`,
		"[webhook]\nlisten = \"127.0.0.1:1\"\nsecret_command = []\n":                        "want exactly one",
	} {
		w, err := world(t, text)
		if err == nil {
			_, _, err = Webhook(w)
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "custos.toml") {
			t.Errorf("%q: %v, want %q and the file", text, err, want)
		}
	}
}

func TestWebhookIsMade(t *testing.T) {
	w, err := world(t, "[webhook]\nlisten = \"0.0.0.0:9912\"\nsecret_file = \"~/secret\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.Config.Home, "secret"), []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	listen, secret, err := Webhook(w)
	if err != nil || listen != "0.0.0.0:9912" {
		t.Fatalf("%q, %v", listen, err)
	}
	if got, err := secret(t.Context()); got != "s3cret" || err != nil {
		t.Errorf("the secret is %q, %v", got, err)
	}
	if w, err = world(t, ""); err != nil {
		t.Fatal(err)
	}
	if listen, secret, err := Webhook(w); listen != "" || secret != nil || err != nil {
		t.Errorf("without a section there is %q, %v", listen, err)
	}
}
