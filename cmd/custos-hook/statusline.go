package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// statusLine is the event of a status line, which has one command only: what a person
// has configured goes on being run, by us.
const statusLine = "StatusLine"

// pipeful is what surely fits into a pipe without a reader, in bytes.
const pipeful = 60 << 10

// showOwn becomes the person's own command for the status line, with the payload on its
// standard input; it comes back when there is none. The CLI itself would run it as it is
// run here: by a shell, in the same folder.
func showOwn(o order, payload []byte) {
	command := own(o, payload)
	if command == "" || len(payload) > pipeful {
		return
	}
	var ends [2]int
	if syscall.Pipe(ends[:]) != nil {
		return
	}
	_, _ = syscall.Write(ends[1], payload)
	_ = syscall.Close(ends[1])
	if asStdin(ends[0]) == nil {
		_ = syscall.Exec("/bin/sh", []string{"sh", "-c", command}, os.Environ())
	}
}

// own is the command that ours stands in for: as it was when ours was put into the
// settings, else as the settings have it now, which --settings of the launch overrules.
func own(o order, payload []byte) string {
	if o.installed {
		return decoded(o.then)
	}
	var p struct {
		Workspace struct {
			Project string `json:"project_dir"`
		} `json:"workspace"`
	}
	_ = json.Unmarshal(payload, &p)
	home := os.Getenv("CLAUDE_CONFIG_DIR")
	if home == "" {
		home = filepath.Join(os.Getenv("HOME"), ".claude")
	}
	var files []string
	if p.Workspace.Project != "" {
		project := filepath.Join(p.Workspace.Project, ".claude")
		files = append(files, filepath.Join(project, "settings.local.json"), filepath.Join(project, "settings.json"))
	}
	for _, file := range append(files, filepath.Join(home, "settings.json")) {
		if command, ok := configured(file); ok {
			return command
		}
	}
	return ""
}

// configured is the command that a settings file has for the status line; ok is false
// where it says nothing of one. Ours stands for what it was put in the place of.
func configured(file string) (command string, ok bool) {
	var s struct {
		StatusLine *struct {
			Type    string `json:"type"`
			Command string `json:"command"`
		} `json:"statusLine"`
	}
	if json.Unmarshal(text(file), &s) != nil || s.StatusLine == nil || s.StatusLine.Type != "command" {
		return "", false
	}
	if _, then, ours := strings.Cut(s.StatusLine.Command, " --then="); ours && strings.Contains(s.StatusLine.Command, "custos-hook") {
		return decoded(then), true
	}
	if strings.Contains(s.StatusLine.Command, "/custos-hook") {
		return "", true
	}
	return s.StatusLine.Command, true
}

// text reads a regular file, a mebibyte of it at most; a pipe in its place is not waited for.
func text(file string) []byte {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if is, err := f.Stat(); err != nil || !is.Mode().IsRegular() {
		return nil
	}
	b, _ := io.ReadAll(io.LimitReader(f, 1<<20))
	return b
}

// decoded is a command as it stands in settings, a JSON string, written as base64.
func decoded(coded string) (command string) {
	b, err := base64.URLEncoding.DecodeString(coded)
	if err != nil || json.Unmarshal(b, &command) != nil {
		return ""
	}
	return command
}
