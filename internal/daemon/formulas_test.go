package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What runs by itself is said alike by custos formula list and by custos schedule list:
// what custos.toml schedules, what a formula of one's own does, and what is there no more.
func TestFormulasAndSchedulesAgree(t *testing.T) {
	dir := t.TempDir()
	own := "name = \"own\"\n[[schedule]]\nevery = \"1h\"\n[[steps]]\nid = \"a\"\nrun = [\"true\"]\n"
	for name, text := range map[string]string{"own.toml": own, "idle.toml": strings.Replace(strings.Replace(own, "[[schedule]]\nevery = \"1h\"\n", "", 1), "own", "idle", 1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := watching(t, "[formulas]\ndirs = [\""+dir+"\"]\n[schedule.often]\nformula = \"patrol\"\nevery = \"20m\"\n[schedule.nightly]\nformula = \"patrol\"\ncron = \"0 3 * * *\"\n"+
		"[schedule.lost]\nformula = \"gone\"\nevery = \"2h\"\n")
	rows, err := s.control(true).Schedules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.control(true).Formulas.Formulas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scheduled, listed := map[string][]string{}, map[string][]string{}
	for _, r := range rows {
		scheduled[r.Formula] = append(scheduled[r.Formula], r.When)
	}
	for _, f := range list {
		if len(f.Schedules) > 0 {
			listed[f.Name] = append(listed[f.Name], f.Schedules...)
		}
	}
	if diff := cmp.Diff(scheduled, listed); diff != "" || len(scheduled["own"]) != 1 || len(scheduled["patrol"]) != 2 || len(scheduled["gone"]) != 1 {
		t.Errorf("schedules %v, formulas %v", scheduled, listed)
	}
}
