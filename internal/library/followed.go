package library

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// rereadEvery bounds how often it is looked whether formulas changed.
const rereadEvery = time.Second

// followed is what was read of files that may change.
type followed struct {
	sources []string // files and folders that it was made of
	stamp   string
	checked time.Time
}

// reread has it read when it never was, and when one of its files changed since.
// load sets sources; version changes when what is not read of files does.
func (f *followed) reread(version func() string, load func()) {
	if !f.checked.IsZero() && time.Since(f.checked) < rereadEvery {
		return
	}
	first := f.checked.IsZero()
	f.checked = time.Now()
	if now := version(); first || stampOf(f.sources)+now != f.stamp {
		load()
		f.stamp = stampOf(f.sources) + now
	}
}

// stampOf changes when one of the files does.
func stampOf(files []string) string {
	var b strings.Builder
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			fmt.Fprintf(&b, "%d.%d;", info.ModTime().UnixNano(), info.Size())
		} else {
			b.WriteString("-;")
		}
	}
	return b.String()
}
