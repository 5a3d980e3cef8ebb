package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"custos/internal/fleet"
	"custos/internal/view"
)

var update = flag.Bool("update", false, "write what is into the golden files")

// Each file of testdata/views holds a pass (parts that are not there are ok and
// empty) and what each view makes of it.
func TestViews(t *testing.T) {
	files, err := filepath.Glob("testdata/views/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { checkViews(t, file) })
	}
}

func checkViews(t *testing.T, file string) {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pass, err := passOf(ar.Files[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range ar.Files[1:] {
		got := viewed(t, f.Name, pass)
		if *update {
			ar.Files[i+1].Data = got
		} else if d := cmp.Diff(string(f.Data), string(got)); d != "" {
			t.Errorf("%s:\n%s", f.Name, d)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func passOf(b []byte) (fleet.Pass, error) {
	var p fleet.Pass
	for _, name := range fleet.PartNames() {
		p.Snapshot.Sight(name).Status = fleet.StatusOK
	}
	for _, name := range []fleet.PartName{fleet.PartEngine, fleet.PartForge, fleet.PartCI, fleet.PartBeads, fleet.PartVaults, fleet.PartChecks} { // not configured
		p.Snapshot.Sight(name).Status = fleet.StatusAbsent
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return p, d.Decode(&p)
}

// viewed computes the view a file is named after: "firstlook.json",
// "story lock//tmp/x.lock.json".
func viewed(t *testing.T, name string, p fleet.Pass) []byte {
	w := &world{pass: p, alerts: p.Assessment.Alerts, registrations: p.Past.Registrations}
	name, of, _ := strings.Cut(strings.TrimSuffix(name, ".json"), " ")
	var v any
	switch name {
	case "firstlook":
		v = view.FirstLook(p, w, view.Hints{})
	case "patrol":
		v = view.PatrolReport(p, false, w)
	case "plan":
		v = view.Plan(p, w)
	case "preflight":
		v = view.Preflight(p.Snapshot, nil)
	case "story":
		got, err := client(w).Story(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		v = got
	case "agents":
		v = view.Agents(p, view.Hints{})
	case "agent":
		got, err := client(w).Agent(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		v = got
	default:
		t.Fatalf("there is no view %q", name)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}
