//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// recordVersion is that of the files. A reader refuses what it does not know.
const recordVersion = 1

type process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot, field 22 of /proc/PID/stat
}

type instant struct {
	Wall time.Time `json:"wall"`  // UTC
	Up   int64     `json:"up_ns"` // CLOCK_BOOTTIME in nanoseconds
	Boot string    `json:"boot"`
}

type claimed struct {
	V    int     `json:"v"`
	Key  string  `json:"key"`
	Name string  `json:"name"`
	Shim process `json:"shim"`
	At   instant `json:"at"`
}

type started struct {
	V         int     `json:"v"`
	Key       string  `json:"key"`
	Name      string  `json:"name"`
	Shim      process `json:"shim"`
	Agent     process `json:"agent"`
	PGID      int     `json:"pgid"`
	At        instant `json:"at"`
	Headless  bool    `json:"headless,omitempty"`
	Input     bool    `json:"input,omitempty"`
	LogMax    int64   `json:"log_max,omitempty"`
	MemoryMax int64   `json:"memory_max,omitempty"`
	Cap       string  `json:"cap"` // which memory cap is in force: cgroup or none
	CapWhy    string  `json:"cap_why,omitempty"`
	Cgroup    string  `json:"cgroup,omitempty"`

	Boundary *bounded `json:"boundary,omitempty"`
}

// bounded is the boundary that an agent was started within.
type bounded struct {
	Name  string   `json:"name"`
	By    string   `json:"by"`
	ABI   int      `json:"abi"`             // version of the kernel's Landlock; 0: none
	Open  []string `json:"open,omitempty"`  // what was asked for and is not held
	Never []string `json:"never,omitempty"` // what it holds on no kernel
}

type failed struct {
	V     int     `json:"v"`
	Key   string  `json:"key"`
	Shim  process `json:"shim"`
	Error string  `json:"error"`
	At    instant `json:"at"`
}

type exited struct {
	V      int     `json:"v"`
	Key    string  `json:"key"`
	Agent  process `json:"agent"`
	Status *int    `json:"status,omitempty"` // exactly one of status and signal
	Signal *int    `json:"signal,omitempty"`
	Core   bool    `json:"core,omitempty"`
	OOM    *bool   `json:"oom,omitempty"`    // absent: it cannot be told
	Hangup bool    `json:"hangup,omitempty"` // its terminal had been closed
	MaxRSS int64   `json:"max_rss"`          // bytes, the largest process of its tree that was waited for
	CPU    int64   `json:"cpu_ns"`           // user and system, of the agent and what it waited for
	At     instant `json:"at"`
}

type left struct {
	V     int         `json:"v"`
	Key   string      `json:"key"`
	Procs []leftBelow `json:"procs"`
	At    instant     `json:"at"`
}

type leftBelow struct {
	process
	Name string `json:"name"`
}

// now reads both clocks.
func now(boot string) instant {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // cannot fail on Linux ≥ 2.6.39
	return instant{Wall: time.Now().UTC(), Up: ts.Nano(), Boot: boot}
}

// put writes DIR/name by rename, so that a reader sees all of it or nothing.
func put(dir, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	tmp := filepath.Join(dir, "."+name)
	if err := writeFile(tmp, append(text, '\n')); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
		os.Remove(tmp)
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return nil
}

// reserved is a file that got its room on the disk when there was some.
type reserved struct {
	dir, name string
	file      *os.File
}

// roomForExit is several times what exit.json needs.
const roomForExit = 2048

// reserve takes the room for DIR/name, which does not exist until fill.
func reserve(dir, name string) (*reserved, error) {
	f, err := create(filepath.Join(dir, "."+name))
	if err == nil {
		_, err = f.Write(blanks())
	}
	if err != nil {
		return nil, fmt.Errorf("cannot reserve room for %s: %w", name, err)
	}
	return &reserved{dir: dir, name: name, file: f}, nil
}

func blanks() []byte {
	b := make([]byte, roomForExit)
	for i := range b {
		b[i] = ' '
	}
	return b
}

// fill writes the text, blank to its end, and makes the file appear. It needs
// no new room on the disk.
func (r *reserved) fill(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		room := blanks()
		room[copy(room[:roomForExit-1], text)] = '\n'
		_, err = r.file.WriteAt(room, 0)
	}
	if err == nil {
		err = os.Rename(filepath.Join(r.dir, "."+r.name), filepath.Join(r.dir, r.name))
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", r.name, err)
	}
	return nil
}

// settle makes the file survive a loss of power. It is called after all
// can already read it.
func (r *reserved) settle() {
	_ = r.file.Sync()
	r.file.Close()
	if d, err := os.OpenFile(r.dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
