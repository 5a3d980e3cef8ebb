package daemon_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"

	"custos/internal/web/chromiumtest"
)

// vouched is a certificate for the name box.test that one browser takes.
type vouched struct {
	pair      tls.Certificate
	cert, key []byte // as PEM
	pin       string // by which the browser knows it
}

func newVouched(t *testing.T) vouched {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "box.test"}, DNSNames: []string{"box.test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(public)
	return vouched{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), base64.StdEncoding.EncodeToString(sum[:])}
}

// By TLS of its own, and behind a proxy that has it (Go's, and a real nginx), the cookie is
// one that this very host alone sets, and the page is kept up to date, and does what its
// forms say; a proxy that the daemon is gone behind is waited for.
func TestThePageByTLSInARealBrowser(t *testing.T) {
	v := newVouched(t)
	w := browsedTown(t, chromiumtest.Options{Hosts: []string{"MAP box.test 127.0.0.1"}, Keys: []string{v.pin}})
	cert, key := filepath.Join(w.dir, "box.pem"), filepath.Join(w.dir, "box.key")
	for name, text := range map[string][]byte{cert: v.cert, key: v.key} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.spawn("quiet", "reply hello", false)
	_, port, _ := strings.Cut(w.listen, ":")
	for _, part := range []struct {
		name string
		is   func(*testing.T)
	}{
		{"of its own", func(t *testing.T) {
			w.serves(fmt.Sprintf("names = [\"box.test\"]\ntls_cert = %q\ntls_key = %q\n", cert, key))
			isUsedByTLS(t, w, "https://box.test:"+port)
		}},
		{"behind Go", func(t *testing.T) {
			proxy := httptest.NewUnstartedServer(handsOn(t, "http://"+w.listen))
			proxy.TLS = &tls.Config{Certificates: []tls.Certificate{v.pair}, MinVersion: tls.VersionTLS12}
			proxy.StartTLS()
			t.Cleanup(proxy.Close)
			isUsedBehind(t, w, proxy.URL[strings.LastIndex(proxy.URL, ":")+1:])
		}},
		{"behind nginx", func(t *testing.T) { isUsedBehind(t, w, nginx(t, w.listen, cert, key)) }},
	} {
		t.Run(part.name, func(t *testing.T) {
			all := w.T
			w.T = t
			defer func() { w.T = all }()
			part.is(t)
		})
	}
}

// isUsedBehind: the page behind a proxy that listens at a port. What is told elsewhere is
// shown at once, and what the daemon is gone from for a while is right again.
func isUsedBehind(t *testing.T, w *browsed, port string) {
	t.Helper()
	called := "https://box.test:" + port
	w.serves(fmt.Sprintf("behind_proxy = %q\n", called))
	c := isUsedByTLS(t, w, called)
	c.Goes(called + "/agents")
	chromiumtest.Evaluate[int](c, `window.kept = 1`)
	w.kill()
	c.Awaits("#stale", "not kept up to date")
	w.start()
	begun := time.Now()
	for c.Shows("#stale", "") || !c.Shows(`tr[data-agent="quiet"]`, "quiet") {
		if time.Since(begun) > rightWithin {
			t.Fatalf("behind a proxy it is not right again:\n%s", c.Text())
		}
		<-time.After(10 * time.Millisecond)
	}
	if !chromiumtest.Evaluate[bool](c, `window.kept === 1`) {
		t.Error("it was loaded again: had the proxy still answered in its place, nothing would have brought it back")
	}
	if took := eventsWithin(c); took > 5*time.Second {
		t.Errorf("events come after %v: the proxy holds them back", took)
	}
}

// eventsWithin is how long the first event of a stream of the page takes, as its script hears it.
func eventsWithin(c *chromiumtest.Tab) time.Duration {
	c.T.Helper()
	ms := chromiumtest.Evaluate[float64](c, `new Promise(is => { const begun = performance.now(), s = new EventSource("/changes"); s.addEventListener("change", () => { s.close(); is(performance.now() - begun); }); })`)
	return time.Duration(ms * float64(time.Millisecond))
}

// serves has the page served otherwise, by what [web] of custos.toml says besides.
func (w *browsed) serves(more string) {
	w.Helper()
	const told = "The page is served"
	begun := strings.Count(w.said.String(), told)
	w.rewrite(w.top + fmt.Sprintf("[web]\nlisten = %q\n", w.listen) + more)
	await(w.T, w.said.String, func() bool { return strings.Count(w.said.String(), told) > begun })
}

// handsOn is a proxy in front of an address.
func handsOn(t *testing.T, to string) http.Handler {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(u)
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}, ErrorHandler: func(rw http.ResponseWriter, _ *http.Request, _ error) { rw.WriteHeader(http.StatusBadGateway) }}
}

// isUsedByTLS has a person come in, tell an agent something, and stay.
func isUsedByTLS(t *testing.T, w *browsed, base string) *chromiumtest.Tab {
	t.Helper()
	c := w.person(t)
	cookies := chromiumtest.Call(c, network.GetCookies, network.GetCookiesParams{}).Cookies
	if len(cookies) != 1 || cookies[0].Name != "__Host-custos" || !cookies[0].Secure || !cookies[0].HTTPOnly || cookies[0].SameSite != network.CookieSameSiteStrict || cookies[0].Domain != "box.test" || cookies[0].Path != "/" {
		t.Errorf("%s: the cookies %+v", base, cookies)
	}
	c.Goes(base + "/agents/quiet")
	c.Awaits("#state-title", "idle")
	c.Types("#text", "fake reply "+base[len(base)-3:])
	c.Clicks(`form[action$="/nudge"] button`)
	c.Awaits("#outcome", "nudge: done")
	c.Awaits("#screen", "● "+base[len(base)-3:])
	if found := c.Elsewhere(base); len(found) > 0 {
		t.Errorf("it asked for %q", found)
	}
	if said := c.Complaints(); said != "" {
		t.Errorf("%s: the browser complains of\n%s", base, said)
	}
	return c
}
