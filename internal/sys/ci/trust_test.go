package ci

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/sys/httpjson"
)

// A log that the server has elsewhere is fetched from there when somebody vouches for that
// place, without the token.
func TestALogElsewhereIsVouchedFor(t *testing.T) {
	asked := 0
	store := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Authorization") != "" {
			t.Error("the token went along")
		}
		_, _ = io.WriteString(w, "the last line\n")
	}))
	store.Config.ErrorLog = log.New(io.Discard, "", 0)
	store.StartTLS()
	t.Cleanup(store.Close)
	server := httptest.NewServer(http.RedirectHandler(store.URL, http.StatusFound))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: store.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	roots, err := httpjson.RootsBesides(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{base: server.URL, http: &http.Client{CheckRedirect: httpjson.Stay}}
	if text, err := c.Text(t.Context(), "/log"); err == nil || !strings.Contains(err.Error(), "ca_file") || asked > 0 {
		t.Errorf("without: %q, %v", text, err)
	}
	c.vouched = httpjson.Client(roots)
	if text, err := c.Text(t.Context(), "/log"); err != nil || text != "the last line\n" {
		t.Errorf("with: %q, %v", text, err)
	}
}
