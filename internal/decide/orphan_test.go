package decide

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"custos/internal/fleet"
)

// TestOrphans plays the table of testdata/orphans: what is known of something that
// somebody left, what is done with it, and why.
func TestOrphans(t *testing.T) {
	files, err := filepath.Glob("testdata/orphans/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("cannot find cases: %v", err)
	}
	cases, done := 0, map[orphanDo]bool{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			given, then := &archive.Files[i], &archive.Files[i+1]
			do, why := orphanOf(t, string(given.Data)).decide()
			cases, done[do] = cases+1, true
			if got := fmt.Sprintf("%s: %s\n", do, why); *update {
				then.Data = []byte(got)
			} else if got != string(then.Data) {
				t.Errorf("%s: %s\ngot:  %swant: %s", file, given.Name, got, then.Data)
			}
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if cases < 40 || len(done) != len(orphanDos) {
		t.Errorf("%d cases with %d of %d decisions, want at least 40 with all of them", cases, len(done), len(orphanDos))
	}
}

var orphanDos = []orphanDo{orphanLeave, orphanWait, orphanRelease, orphanReassign, orphanRecover, orphanSave, orphanRemove, orphanStop, orphanPerson}

// orphanOf reads "worktree owner=custos alive=no assigned=no returns=yes tree=yes
// clean=no unpushed=2 merged=no saved=REF missing=yes marked=yes moving=no age=3h
// who=dev". What is left out is unknown; of flags, no.
func orphanOf(t *testing.T, text string) orphan {
	t.Helper()
	words, err := split(strings.TrimSpace(text))
	if err != nil || len(words) == 0 {
		t.Fatalf("cannot read %q: %v", text, err)
	}
	o := orphan{what: orphanKind(words[0]), owner: fleet.OwnerCustos, who: "dev"}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		o.set(t, key, value)
	}
	return o
}

func (o *orphan) set(t *testing.T, key, value string) {
	t.Helper()
	switch key {
	case "owner":
		o.owner = fleet.Owner(value)
	case "who":
		o.who = value
	case "saved":
		o.saved = value
	case "over":
		o.over = value
	case "returns":
		o.returns = value == "yes"
	case "missing":
		o.missing = value == "yes"
	case "unpushed":
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		o.unpushed = fleet.Known(n)
	case "age":
		o.age = fleet.Known(duration(value))
	default:
		leaf, ok := map[string]*fleet.Leaf[bool]{"alive": &o.alive, "assigned": &o.assigned, "marked": &o.marked, "moving": &o.moving,
			"tree": &o.tree, "clean": &o.clean, "merged": &o.merged}[key]
		if !ok || value != "yes" && value != "no" {
			t.Fatalf("cannot read %s=%s", key, value)
		}
		*leaf = fleet.Known(value == "yes")
	}
}

// matters lists, for a decision that takes something from somebody, the facts that
// have to be known for it.
func (o orphan) matters() map[string]bool {
	facts := map[string]bool{"alive": o.alive.IsKnown(), "age": o.age.IsKnown()}
	switch o.what {
	case orphanWork, orphanTree:
		facts["assigned"], facts["tree"] = o.assigned.IsKnown(), o.tree.IsKnown()
	case orphanProcess:
		facts["marked"], facts["moving"] = o.marked.IsKnown(), o.moving.IsKnown()
	}
	if o.what != orphanProcess && o.tree.Or(true) {
		facts["clean"] = o.clean.IsKnown()
		if !o.missing {
			facts["unpushed"], facts["merged"] = o.unpushed.IsKnown(), o.merged.IsKnown()
		}
	}
	return facts
}

// everyOrphan calls f with every combination of what may be known.
func everyOrphan(f func(orphan)) {
	leaves := []fleet.Leaf[bool]{fleet.Unknown[bool]("not seen"), fleet.Known(false), fleet.Known(true)}
	counts := []fleet.Leaf[int]{fleet.Unknown[int]("not seen"), fleet.Known(0), fleet.Known(1), fleet.Known(7)}
	ages := []fleet.Leaf[fleet.Duration]{fleet.Unknown[fleet.Duration]("not seen"), fleet.Known(duration("59s")), fleet.Known(duration("61s")), fleet.Known(duration("10h"))}
	kinds := []orphanKind{orphanAgent, orphanWork, orphanTree, orphanProcess, "else"}
	owners := []fleet.Owner{fleet.OwnerCustos, fleet.OwnerForeign, ""}
	n := 0
	pick := func(of int) int { i := n % of; n /= of; return i }
	for i := range len(kinds) * len(owners) * 3 * 3 * 3 * 3 * 3 * len(counts) * len(ages) * 8 {
		n = i
		o := orphan{what: kinds[pick(len(kinds))], owner: owners[pick(len(owners))], alive: leaves[pick(3)], assigned: leaves[pick(3)]}
		o.tree, o.clean, o.merged = leaves[pick(3)], leaves[pick(3)], leaves[pick(3)]
		o.marked, o.moving = o.clean, o.merged // no kind has both
		o.unpushed, o.age = counts[pick(len(counts))], ages[pick(len(ages))]
		o.returns, o.missing, o.saved = pick(2) == 1, pick(2) == 1, []string{"", "refs/custos/backup/x"}[pick(2)]
		f(o)
	}
}

// Whatever is known and is not: nothing is taken from somebody who lives or may
// live, from a stranger, or while a fact that matters is not known.
func TestNothingIsTakenOnUnknown(t *testing.T) {
	taken := map[orphanDo]bool{}
	everyOrphan(func(o orphan) {
		do, why := o.decide()
		if why == "" {
			t.Fatalf("%+v: %s without a reason", o, do)
		}
		if !do.takes() {
			return
		}
		taken[do] = true
		for fact, known := range o.matters() {
			if !known {
				t.Fatalf("%+v: %s (%s), and %s is not known", o, do, why, fact)
			}
		}
		switch {
		case !o.owner.MayTouch() || o.alive.Or(true) || o.age.Or(0) < fleet.Duration(time.Minute):
			t.Fatalf("%+v: %s (%s) of a stranger, of who lives, or of what is young", o, do, why)
		case (do == orphanRemove || do == orphanRelease) && o.tree.Or(true) && (!o.clean.Or(false) || o.unpushed.Or(0) > 0 && !o.merged.Or(false) && !o.missing):
			t.Fatalf("%+v: %s (%s), and work would be lost", o, do, why)
		case do == orphanStop && (!o.marked.Or(false) || o.moving.Or(true)):
			t.Fatalf("%+v: %s (%s)", o, do, why)
		case do == orphanRemove && o.assigned.Or(true), (do == orphanRelease || do == orphanReassign) && o.returns:
			t.Fatalf("%+v: %s (%s), and its agent comes back", o, do, why)
		}
	})
	if len(taken) != 4 {
		t.Errorf("of what takes something only %v was ever decided", taken)
	}
}

// emptyTree is a worktree that nobody uses and that holds nothing.
func emptyTree(path string, owner fleet.Owner, set map[string]string) *fleet.Worktree {
	w := &fleet.Worktree{Path: path, Owner: owner, Occupied: fleet.Known(integers(set["occupied"])), Age: fleet.Known(fleet.Duration(3 * time.Hour)),
		Branch: fleet.Known("agent/x"), Dirty: fleet.Known(integer(set["dirty"])), Untracked: fleet.Known(0), Unpushed: fleet.Known(integer(set["unpushed"])),
		Merged: fleet.Known(set["merged"] != "no"), Removable: fleet.Known(true)}
	w.Missing = set["missing"] != ""
	if set["used"] != "" {
		w.Age = fleet.Known(duration(set["used"]))
	}
	if set["holds"] == "unknown" {
		w.Dirty, w.Removable = fleet.Unknown[int]("git does not answer"), fleet.Unknown[bool]("git does not answer")
	}
	return w
}

// takes says whether it takes something from somebody.
func (d orphanDo) takes() bool {
	switch d {
	case orphanRelease, orphanReassign, orphanRemove, orphanStop:
		return true
	}
	return false
}
