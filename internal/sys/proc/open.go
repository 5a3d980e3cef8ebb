package proc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
)

// OpenFile is a file that a process holds open, or runs or maps: not a socket, a pipe or
// a device.
type OpenFile struct {
	PID  int
	Path string // raw, as that process sees it
}

// OpenFiles lists what every process holds, each file of a process once. A
// process whose files cannot be read is left out: that is told by its working
// directory, which hides then, too. except is left out: who looks is not inside.
func OpenFiles(ctx context.Context, except func(Stat) bool) ([]OpenFile, error) {
	const root = "/proc"
	pids, err := listPids(root)
	if err != nil {
		return nil, fmt.Errorf("cannot list open files: %w", err)
	}
	var list []OpenFile
	b := &buffer{}
	for _, pid := range pids {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("cannot list open files: %w", context.Cause(ctx))
		}
		text, err := b.file(root, pid, "stat")
		if err != nil {
			continue // it has ended
		}
		if stat, err := parseStat(text); err != nil || except(stat) {
			continue
		}
		for path := range held(fmt.Sprintf("%s/%d", root, pid)) {
			list = append(list, OpenFile{PID: pid, Path: path})
		}
	}
	return list, nil
}

// held collects the files of one process, by its descriptors and its mappings.
func held(dir string) map[string]bool {
	files := map[string]bool{}
	names := func() []string {
		d, err := os.Open(dir + "/fd")
		if err != nil {
			return nil
		}
		defer d.Close()
		names, _ := d.Readdirnames(-1)
		return names
	}
	for _, fd := range names() {
		if to, err := os.Readlink(dir + "/fd/" + fd); err == nil {
			add(files, to)
		}
	}
	maps, _ := os.ReadFile(dir + "/maps")
	for line := range bytes.Lines(maps) {
		if i := bytes.IndexByte(line, '/'); i >= 0 { // the path is the last field, and the only one with a slash
			add(files, strings.ReplaceAll(strings.TrimSuffix(string(line[i:]), "\n"), `\012`, "\n"))
		}
	}
	return files
}

// add keeps what is a file on some disk.
func add(files map[string]bool, path string) {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") {
		return
	}
	files[strings.TrimSuffix(path, " (deleted)")] = true
}
