package catalog

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/judge"
)

// private is a server that only an authority of its own vouches for. asked counts the
// requests that reached it: a token is in each.
type private struct {
	URL, CA, otherCA string
	asked            atomic.Int32
}

func newPrivate(t *testing.T) *private {
	t.Helper()
	p := &private{CA: filepath.Join(t.TempDir(), "ca.pem"), otherCA: filepath.Join(t.TempDir(), "other.pem")}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.asked.Add(1)
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":1},"event_id":"$1"}`)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that fail are what is wanted
	s.StartTLS()
	t.Cleanup(s.Close)
	p.URL = s.URL
	writePEM(t, p.CA, s.Certificate().Raw)
	writePEM(t, p.otherCA, authority(t))
	return p
}

// authority is the certificate of one that vouches for nobody.
func authority(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "another"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func writePEM(t *testing.T, name string, der []byte) {
	t.Helper()
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
}

// askers are the sections that speak to a server, and one question by each. The error is
// what came of it; of a probe nobody hears one.
func askers(url string) map[string]struct {
	text string
	ask  func(ctx context.Context, t *testing.T, text string) error
} {
	env := map[string]string{"T": "1:token", "PING": url + "/uuid"}
	look := func(probe string) func(context.Context, *testing.T, string) error {
		return func(ctx context.Context, t *testing.T, text string) error {
			t.Setenv("T", "1:token")
			probes, w, err := probesOf(t, text)
			if err != nil {
				return err
			}
			w.Getenv = func(name string) string { return env[name] }
			_, err = probes[probe].Look(ctx)
			return err
		}
	}
	tell := func(ctx context.Context, t *testing.T, text string) error {
		p, err := people(t, text, env)
		if err != nil {
			return err
		}
		for _, m := range p.Mirrors {
			return m.Show(ctx, fleet.Instant{}, []fleet.Alert{{}})
		}
		for _, b := range p.Pulses {
			return b.Beat(ctx)
		}
		return p.Notifiers[1].Notify(ctx, fleet.Message{Subject: "it burns"})
	}
	ask := func(ctx context.Context, t *testing.T, text string) error {
		o, err := triageOptions(judged(t, text).Config)
		if err != nil {
			return err
		}
		j, err := judge.New(o.Judge)
		if err != nil {
			return err
		}
		_, err = j.Ask(ctx, judge.Question{System: "s", Data: "d", Schema: []byte(`{"type":"object"}`)})
		return err
	}
	return map[string]struct {
		text string
		ask  func(ctx context.Context, t *testing.T, text string) error
	}{
		"forge":        {fmt.Sprintf("[forge.x]\nkind = \"forgejo\"\nurl = %q\nrepo = \"a/b\"\ntoken_command = [\"echo\", \"token\"]\n", url), look("forge")},
		"ci":           {fmt.Sprintf("[ci.x]\nkind = \"woodpecker\"\nurl = %q\nrepo = \"a/b\"\ntoken_command = [\"echo\", \"token\"]\n", url), look("ci")},
		"matrix":       {fmt.Sprintf("[notifier.x]\ntype = \"matrix\"\nserver = %q\nroom = \"!a:b\"\ntoken_env = \"T\"\n", url), tell},
		"telegram":     {fmt.Sprintf("[notifier.x]\ntype = \"telegram\"\nserver = %q\nchat = \"-1\"\ntoken_env = \"T\"\n", url), tell},
		"ping":         {"[notifier.x]\ntype = \"ping\"\ntoken_env = \"PING\"\n", tell},
		"alertmanager": {fmt.Sprintf("[notifier.x]\ntype = \"alertmanager\"\nserver = %q\n", url), tell},
		"judge":        {fmt.Sprintf("[triage.judge]\nkind = \"openai\"\nmodel = \"m\"\nbase_url = %q\n", url), ask},
	}
}

// Nothing is said to a server that nobody vouches for: neither whom the machine believes, nor
// who stands in ca_file. Where that names who does, it is asked.
func TestWhoVouchesForAServer(t *testing.T) {
	p := newPrivate(t)
	for name, x := range askers(p.URL) {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				line string
				asks bool
			}{{"", false}, {fmt.Sprintf("ca_file = %q\n", p.otherCA), false}, {fmt.Sprintf("ca_file = %q\n", p.CA), true}} {
				before := p.asked.Load()
				err := x.ask(t.Context(), t, x.text+c.line)
				if asked := p.asked.Load() > before; asked != c.asks {
					t.Errorf("with %q it was asked: %v (%v)", c.line, asked, err)
				}
				if tells := name != "forge" && name != "ci"; tells && !c.asks && (err == nil || !strings.Contains(err.Error(), "ca_file")) {
					t.Errorf("with %q it is said: %v", c.line, err)
				}
			}
		})
	}
}

// A ca_file that is none is a mistake of custos.toml, with its key, before anything is asked.
func TestWhatVouchesForNobodyIsRefused(t *testing.T) {
	p := newPrivate(t)
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("-----BEGIN PRIVATE KEY-----\nhunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, x := range askers(p.URL) {
		for file, want := range map[string]string{empty: "there is no certificate in it", t.TempDir(): "it is no file", "/nowhere/ca.pem": "no such file", "ca.pem": "is relative"} {
			err := x.ask(t.Context(), t, x.text+fmt.Sprintf("ca_file = %q\n", file))
			if err == nil || !strings.Contains(err.Error(), "ca_file") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
	if p.asked.Load() > 0 {
		t.Error("it was asked all the same")
	}
}
