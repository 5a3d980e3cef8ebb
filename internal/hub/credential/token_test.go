package credential

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// ca is a certificate that is one in form.
func ca(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newToken(t testing.TB, k Keys) Token {
	t.Helper()
	token, err := k.NewToken(Offer{URLs: []string{"tls://127.0.0.1:4222"}, CA: ca(t), Invite: NewInvite(), Host: "a", Expires: noon})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestToken(t *testing.T) {
	token := newToken(t, newKeys(t))
	text, err := token.Encode()
	if err != nil || !strings.HasPrefix(text, "custos-join-1.") {
		t.Fatal(text, err)
	}
	again, err := ReadToken(" " + text + "\n")
	if err != nil || fmt.Sprintf("%#v", again) != fmt.Sprintf("%#v", token) || string(again.Creds) != string(token.Creds) || !again.Expires.Equal(noon) {
		t.Errorf("it is another: %v %v", again, err)
	}
	for bad, want := range map[string]string{
		"":                           "this is no token",
		"hello":                      "this is no token",
		"custos-join-2.AAAA":         "of a newer Custos",
		"custos-join-1.":             "not copied whole",
		"custos-join-1.A":            "not copied whole",
		"custos-join-1.AAAAAAAA":     "not copied whole",
		"custos-join-1." + text[20:]: "not copied whole",
	} {
		if _, err := ReadToken(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", bad, want, err)
		}
	}
}

// A token of which something is missing or changed is none, and what is said of it tells nothing of it.
func TestDamagedTokens(t *testing.T) {
	text, err := newToken(t, newKeys(t)).Encode()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		from := rapid.IntRange(0, len(text)-1).Draw(r, "from")
		to := rapid.IntRange(from+1, len(text)).Draw(r, "to")
		damaged := text[:from] + rapid.StringMatching(`[A-Za-z0-9_-]{0,4}`).Draw(r, "instead") + text[to:]
		if damaged == text {
			return
		}
		_, err := ReadToken(damaged)
		if err == nil {
			r.Fatal("it is read")
		}
		if len(err.Error()) > 120 {
			r.Fatalf("it says too much: %v", err)
		}
	})
}

func FuzzReadToken(f *testing.F) {
	text, err := newToken(f, newKeys(f)).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add("custos-join-1.AAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ReadToken(text)
		if err == nil && (token.check() != nil || token.Host == "") {
			t.Error("a token is read that is of no use")
		}
	})
}

// Nothing that is printed shows a secret, however it is printed.
func TestSecretsAreNotPrinted(t *testing.T) {
	k := newKeys(t)
	creds := newCreds(t, k, "a")
	id, err := ReadIdentity(creds)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := NewPair()
	if err != nil {
		t.Fatal(err)
	}
	j := Joined{URLs: []string{"tls://127.0.0.1:1"}, CA: ca(t), Account: k.Account(), Host: "a", Creds: creds}
	seed := regexp.MustCompile(`\bS[UAO][A-Z2-7]{20}`) // of a user, an account, an operator
	if !seed.Match(creds) {
		t.Errorf("no seed is found where one is: %s", creds)
	}
	for _, v := range []any{k, &k, id, &id, pair, newToken(t, k), j, &j} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if text := fmt.Sprintf(format, v); strings.Contains(text, "SEED") || strings.Contains(text, "PRIVATE") || seed.MatchString(text) || len(text) > 100 {
				t.Errorf("%T as %s is %s", v, format, text)
			}
		}
	}
	if text, err := json.Marshal(map[string]any{"keys": k, "identity": id, "pair": pair}); err != nil || len(text) > 100 {
		t.Errorf("as JSON: %s %v", text, err)
	}
}

func TestJoined(t *testing.T) {
	k := newKeys(t)
	j := Joined{URLs: []string{"tls://127.0.0.1:1"}, CA: ca(t), Account: k.Account(), Host: "a", Creds: newCreds(t, k, "a")}
	dir := filepath.Join(t.TempDir(), "hub")
	if _, err := Load(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a folder that is missing: %v", err)
	}
	if err := j.Save(dir); err != nil {
		t.Fatal(err)
	}
	again, err := Load(dir)
	if err != nil || again.Host != "a" || again.Account != j.Account || string(again.Creds) != string(j.Creds) || string(again.CA) != string(j.CA) || again.URLs[0] != j.URLs[0] {
		t.Errorf("it is another: %v %v", again, err)
	}
	for _, name := range []string{".", "hub.json", "hub.creds", "ca.pem"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %s: %v", name, info.Mode(), err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("there is more: %v", left)
	}
	// The files of two hubs do not go together, as when the second Save was cut short.
	for name, change := range map[string]func(*Joined){
		"credentials of another host": func(j *Joined) { j.Creds = newCreds(t, k, "b") },
		"credentials of another hub":  func(j *Joined) { j.Creds = newCreds(t, newKeys(t), "a") },
		"no credentials":              func(j *Joined) { j.Creds = []byte("x") },
		"no certificate":              func(j *Joined) { j.CA = []byte("x") },
	} {
		bad := j
		change(&bad)
		if err := bad.Save(dir); err == nil {
			t.Errorf("%s: it is saved", name)
		}
		for file, data := range map[string][]byte{"hub.creds": bad.Creds, "ca.pem": bad.CA} {
			if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Load(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: it is loaded: %v", name, err)
		}
	}
}

func TestKeys(t *testing.T) {
	k := newKeys(t)
	text, err := k.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadKeys("keys.json", text)
	if err != nil || again.Account() != k.Account() || again.HubAccount() != k.HubAccount() || again.SystemAccount() != k.SystemAccount() {
		t.Errorf("they are others: %v", err)
	}
	for _, bad := range []string{"", "{}", `{"version":2}`, strings.Replace(string(text), `"operator": "SO`, `"operator": "SA`, 1), strings.Replace(string(text), `"hub": "SA`, `"hub": "SX`, 1)} {
		if _, err := ReadKeys("keys.json", []byte(bad)); err == nil {
			t.Errorf("keys are read from %q", bad)
		}
	}
	at := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	account, err := k.HostsAccount(map[string]time.Time{"UA": at})
	if err != nil {
		t.Fatal(err)
	}
	in, err := RevokedIn(account)
	if err != nil || len(in) != 1 || !in["UA"].Equal(at) {
		t.Errorf("revoked are %v: %v", in, err)
	}
	for _, name := range []string{"", "-a", "a.b", "a b", "a*", strings.Repeat("a", 64), "ä"} {
		if _, err := k.HostUser(name, newPair(t)); err == nil {
			t.Errorf("there may be a host %q", name)
		}
	}
	if _, err := k.HostUser("a", k.Account()); err == nil {
		t.Error("the key of an account may be that of a host")
	}
}

func newPair(t *testing.T) string {
	t.Helper()
	p, err := NewPair()
	if err != nil {
		t.Fatal(err)
	}
	return p.Public()
}
