package api

import (
	"slices"
	"testing"
)

func TestFilesAreSplitAtCommas(t *testing.T) {
	got := FilesAt([]string{"a.go,b.go", `co\,mma.txt,c`, "n\nl", `q"uote`, ""})
	if want := []string{"a.go", "b.go", "co,mma.txt", "c", "n\nl", `q"uote`, ""}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if FilesAt(nil) != nil {
		t.Error("no files are some")
	}
}
