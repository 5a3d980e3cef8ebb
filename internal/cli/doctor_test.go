package cli

import (
	"errors"
	"strings"
	"testing"

	"custos/internal/daemon"
)

// The help names every category there is.
func TestDoctorHelpHasEveryCategory(t *testing.T) {
	d, err := daemon.DoctorOf(t.Context(), "test", errors.New("broken"), nil)
	if err != nil {
		t.Fatal(err)
	}
	long := (&app{}).doctorCommand().Long
	for _, c := range d.Checks {
		if !strings.Contains(long, c.Category+",") && !strings.Contains(long, c.Category+". ") {
			t.Errorf("the help does not name %s", c.Category)
		}
	}
}
