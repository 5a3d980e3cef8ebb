package fleet

import "testing"

func TestCounted(t *testing.T) {
	for want, got := range map[string]string{
		"1 file": Counted(1, "file"), "0 files": Counted(0, "file"), "2 processes": Counted(2, "process"), "1 process": Counted(1, "process"),
		"3 repositories": Counted(3, "repository"), "2 keys": Counted(2, "key"), "2 days": Counted(2, "day"), "2 branches": Counted(2, "branch"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
