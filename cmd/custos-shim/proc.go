//go:build linux

package main

import (
	"os"
	"strconv"
	"strings"

	"custos/internal/sys/procstat"
)

func startOf(pid int) (uint64, error) {
	s, err := procstat.Read("/proc", pid)
	return s.Start, err
}

// below lists the living descendants of a process.
func below(root int) []leftBelow {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]procstat.Stat{}
	for _, n := range names {
		if pid, err := strconv.Atoi(n.Name()); err == nil {
			if s, ok := procstat.Living(pid); ok {
				children[s.PPID] = append(children[s.PPID], s)
			}
		}
	}
	var all []leftBelow
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		all = append(all, leftBelow{process{queue[0].PID, queue[0].Start}, strings.ToValidUTF8(queue[0].Comm, "\uFFFD")})
		queue = append(queue, children[queue[0].PID]...)
	}
	return all
}
