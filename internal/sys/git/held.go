package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Held is a file that a process holds open, runs or maps.
type Held struct {
	PID  int
	Path string // raw, as that process sees it
}

// Holders tells who holds what in a folder. It is made once for many folders.
type Holders struct {
	here []Held // by path
	away []away // of processes whose paths are not ours
}

// away is a folder of another mount namespace in which a process holds a file.
type away struct {
	pid   int
	chain [][2]uint64 // its identity, and that of every folder above
}

// NewHolders sorts out what is held. In another mount namespace a folder goes by
// another name, and is told by its identity instead.
func NewHolders(list []Held) *Holders {
	h := &Holders{}
	own, _ := os.Readlink("/proc/self/ns/mnt")
	elsewhere, known := map[int]bool{}, map[string]bool{}
	for _, f := range list {
		if _, asked := elsewhere[f.PID]; !asked {
			ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", f.PID))
			elsewhere[f.PID] = err == nil && own != "" && ns != own
		}
		if !elsewhere[f.PID] {
			h.here = append(h.here, f)
			continue
		}
		dir := fmt.Sprintf("/proc/%d/root%s", f.PID, filepath.Dir(f.Path))
		if !known[dir] {
			known[dir] = true
			h.away = append(h.away, away{f.PID, climb(dir)})
		}
	}
	slices.SortFunc(h.here, func(a, b Held) int { return strings.Compare(a.Path, b.Path) })
	return h
}

// In returns the pids of those who hold something in a folder. Of a main
// worktree, linked worktrees that lie inside it are not a part.
func (h *Holders) In(folder string) (pids []int) {
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	prefix := strings.TrimSuffix(folder, "/") + "/"
	from, _ := slices.BinarySearchFunc(h.here, prefix, func(f Held, p string) int { return strings.Compare(f.Path, p) })
	for _, f := range h.here[from:] {
		if !strings.HasPrefix(f.Path, prefix) {
			break
		}
		if !inLinked(filepath.Dir(f.Path), folder) {
			pids = append(pids, f.PID)
		}
	}
	id := climb(folder)
	for _, a := range h.away {
		if len(id) > 0 && slices.Contains(a.chain, id[0]) {
			pids = append(pids, a.pid)
		}
	}
	sort.Ints(pids)
	return unique(pids)
}

// Shared says whether processes that cannot be seen from a pid namespace of our
// own may be in a folder: they may wherever the folder is not on the file system
// that a container engine made for this container alone (an overlay).
func Shared(mountinfo, folder string) bool {
	best, kind := "", ""
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		if len(fields) < 5 || dash < 0 || dash+1 >= len(fields) {
			continue
		}
		if at := unoctal(fields[4]); within(folder, at) && len(at) >= len(best) {
			best, kind = at, fields[dash+1]
		}
	}
	return kind != "overlay"
}
