package git

import (
	"strings"
	"testing"
)

func FuzzParseSides(f *testing.F) {
	oid := strings.Repeat("1", 40)
	f.Add("100644 " + oid + " 2\tf\x00100755 " + oid + " 3\tf")
	f.Add("100644 " + oid + " 4\tf")
	f.Add("\t")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseSides(strings.Split(text, "\x00"))
		for n, s := range list {
			if err == nil && (s.path == "" || n > 0 && list[n-1].path >= s.path) {
				t.Errorf("%q: %+v", text, list)
			}
		}
	})
}

func TestParseSides(t *testing.T) {
	oid := strings.Repeat("1", 40)
	list, err := parseSides([]string{"100644 " + oid + " 3\tb", "100644 " + oid + " 2\ta", "100755 " + oid + " 3\ta"})
	if err != nil || len(list) != 2 || list[0].path != "a" || list[0].mode != [4]string{"", "", "100644", "100755"} || list[1].oid[3] != oid {
		t.Errorf("%+v, %v", list, err)
	}
	for _, bad := range []string{"", "100644 " + oid + " 4\ta", "100644 x 2\ta", "100644 " + oid + " 2", "100644 " + oid + " 2\t"} {
		if _, err := parseSides([]string{bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// What looks like a mark of a conflict is none where a side has the same line.
func TestMarksOfAConflict(t *testing.T) {
	for text, want := range map[string]bool{
		"a\n<<<<<<< mine\n": true, "=======\r\n": true, ">>>>>>>>>": true, "||||||| base": true,
		"Title\n=======\n": false, "<<<<<< a": false, "<<<<<<<a": false, " <<<<<<< a": false, "a <<<<<<< b": false,
	} {
		side := ""
		if strings.HasPrefix(text, "Title") {
			side = text
		}
		if got := hasMarks([]byte(text), []byte("x\n"), []byte(side)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
