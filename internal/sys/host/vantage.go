package host

import (
	"os"
	"strings"
)

// Place is from where this program looks at the world.
type Place struct {
	Host           string // node name
	Boot           string
	PIDNamespace   string // "pid:[4026531836]"; empty when it cannot be read
	MountNamespace string
	UID            int // effective
	Container      bool
}

// Vantage reads where we are. What cannot be read stays empty.
func Vantage() Place {
	clock, _ := NewClock()
	name, _ := os.Hostname()
	return Place{Host: name, Boot: clock.boot, PIDNamespace: namespace("pid"), MountNamespace: namespace("mnt"),
		UID: os.Geteuid(), Container: inContainer(os.ReadFile, exists)}
}

func namespace(kind string) string {
	link, _ := os.Readlink("/proc/self/ns/" + kind)
	return link
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// inContainer looks for the marks that container engines leave: their files,
// what systemd notes of them, and the cgroup of the first process.
func inContainer(read func(string) ([]byte, error), exists func(string) bool) bool {
	if exists("/.dockerenv") || exists("/run/.containerenv") {
		return true
	}
	if kind, err := read("/run/systemd/container"); err == nil && len(kind) > 0 {
		return true
	}
	text, err := read("/proc/1/cgroup")
	if err != nil {
		return false
	}
	for _, mark := range []string{"/docker/", "/docker-", "/libpod-", "/kubepods", "/lxc/", "/containerd/"} {
		if strings.Contains(string(text), mark) {
			return true
		}
	}
	return false
}
