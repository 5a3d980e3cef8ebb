package doctor

import "testing"

// What became of a damaged database is said.
func TestWhatBecameOfADamagedDatabase(t *testing.T) {
	after := Examination{Installation: Installation{Store: StoreFacts{There: true, Aside: []string{"/s/db.corrupt-1"}}}}
	before := Examination{Installation: Installation{Store: StoreFacts{There: true, Damaged: true}}}
	if out := Began(before, after); len(out) != 1 || out[0].Status != "done" || out[0].Effect != "set aside as /s/db.corrupt-1" {
		t.Errorf("%+v", out)
	}
	if out := Began(before, before); len(out) != 1 || out[0].Status != "failed" {
		t.Errorf("when it did not work: %+v", out)
	}
}
