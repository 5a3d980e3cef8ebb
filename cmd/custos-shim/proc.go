package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// row is what the shim needs of /proc/PID/stat.
type row struct {
	process
	name  string
	state byte
	ppid  int
}

// readRow reads one process.
func readRow(pid int) (row, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return row{}, err
	}
	return parseRow(text)
}

// parseRow reads a line of /proc/PID/stat, whose second field is a name that
// may hold spaces and parentheses.
func parseRow(text []byte) (row, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return row{}, errors.New("no name in stat")
	}
	f := strings.Fields(string(text[end+1:]))
	if len(f) < 20 {
		return row{}, fmt.Errorf("%d fields in stat", len(f))
	}
	r := row{name: string(text[open+1 : end]), state: f[0][0]}
	var errs [3]error
	r.PID, errs[0] = strconv.Atoi(strings.TrimSpace(string(text[:open])))
	r.ppid, errs[1] = strconv.Atoi(f[1])
	r.Start, errs[2] = strconv.ParseUint(f[19], 10, 64)
	return r, errors.Join(errs[:]...)
}

func startOf(pid int) (uint64, error) {
	r, err := readRow(pid)
	return r.Start, err
}

func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // empty: readers refuse it
	return strings.TrimSpace(string(text))
}

// below lists the living descendants of a process.
func below(root int) []leftBelow {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]row{}
	for _, n := range names {
		if pid, err := strconv.Atoi(n.Name()); err == nil {
			if r, err := readRow(pid); err == nil && r.state != 'Z' && r.state != 'X' {
				children[r.ppid] = append(children[r.ppid], r)
			}
		}
	}
	var all []leftBelow
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		all = append(all, leftBelow{process: queue[0].process, Name: strings.ToValidUTF8(queue[0].name, "\uFFFD")})
		queue = append(queue, children[queue[0].PID]...)
	}
	return all
}
