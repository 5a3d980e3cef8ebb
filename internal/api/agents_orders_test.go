package api

import (
	"slices"
	"testing"
)

func TestFilesAreSplitAtCommas(t *testing.T) {
	got := SplitFiles([]string{"a.go,b.go", `co\,mma.txt,c`, "n\nl", `q"uote`, ""})
	if want := []string{"a.go", "b.go", "co,mma.txt", "c", "n\nl", `q"uote`, ""}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if SplitFiles(nil) != nil {
		t.Error("no files are some")
	}
}
