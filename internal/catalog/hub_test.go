package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/config"
	"custos/internal/fleet"
)

// TestReadHub: what [hub] says, and what it cannot say, with its line.
func TestReadHub(t *testing.T) {
	many := make([]string, mostLabels+1)
	for i := range many {
		many[i] = fmt.Sprintf("%q", fmt.Sprint("l", i))
	}
	read := func(text string) (Hub, error) {
		dir := t.TempDir()
		file := filepath.Join(dir, "custos.toml")
		if err := os.WriteFile(file, []byte("[hub]\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(config.Options{File: file, Sections: []string{"hub"}, Getenv: func(string) string { return dir }})
		if err != nil {
			t.Fatal(err)
		}
		return ReadHub(cfg)
	}
	for text, want := range map[string]string{
		`labels = ["a b"]`: `labels: "a b" is no label`, "labels = [" + strings.Join(many, ", ") + "]": "labels: 33 are too many, 32 at most", `labels = [""]`: `"" is no label`,
		`remote = "asks"`: `"asks" is none of view, ask and act`, `host = "a"`: "here it is for a file of leases", "file = \"/l\"\nhost = \"a/b\"": `"a/b" is no name of a host`,
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "custos.toml:") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	h, err := read("remote = \"act\"\nlabels = [\"gpu\", \"zone=a/1\"]")
	if err != nil || h.Remote != fleet.RemoteAct || !slices.Equal(h.Labels, []string{"gpu", "zone=a/1"}) || h.File != "" {
		t.Errorf("%+v, %v", h, err)
	}
	if h, err := read("file = \"/srv/l\"\nhost = \"a.b\""); err != nil || h.File != "/srv/l" || h.Host != "a.b" || h.Remote != fleet.RemoteView {
		t.Errorf("%+v, %v", h, err)
	}
}
