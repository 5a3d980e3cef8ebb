package catalog

import (
	"slices"
	"strings"
	"testing"
)

func TestCoordination(t *testing.T) {
	w, err := world(t, "[coordination]\nwatcher = \"role/witness\"\nwatchers = { shop = \"lead\" }\nconvoys = [\"role/mayor\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Coordination(w.Config)
	if err != nil || got.Watcher != "role/witness" || got.Watchers["shop"] != "lead" || !slices.Equal(got.Convoys, []string{"role/mayor"}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{`watcher = "role/"`, `watcher = "@all"`, `watchers = { shop = "" }`, `convoys = [""]`, `convoys = ["a\nb"]`, `watch = "x"`} {
		w, err := world(t, "mode = \"observe\"\n[coordination]\n"+bad+"\n")
		if err == nil {
			_, err = Coordination(w.Config)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "cannot read ") || !strings.Contains(err.Error(), ":2") && !strings.Contains(err.Error(), ":3") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestBeadsSection(t *testing.T) {
	for _, bad := range []string{`every = "1s"`, `dirs = ["shop"]`} {
		w, err := world(t, "[beads]\n"+bad+"\n")
		if err == nil {
			_, err = newBeads(w)
		}
		if err == nil {
			t.Errorf("[beads] %s was taken", bad)
		}
	}
}
