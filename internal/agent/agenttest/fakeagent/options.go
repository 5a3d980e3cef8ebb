package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// options are the command line, as far as it is understood.
type options struct {
	print, streamOut, streamIn bool
	resume, session            string
	cont                       bool
	prompt                     string
	settings                   []settings
	fake                       string
	control                    string
}

// settings are the part of Claude Code's settings that is obeyed.
type settings struct {
	Hooks map[string][]struct {
		Hooks []struct {
			Type    string `json:"type"`
			Command string `json:"command"`
		} `json:"hooks"`
	} `json:"hooks"`
	StatusLine struct {
		Command string `json:"command"`
	} `json:"statusLine"`
}

// skipped are flags of Claude Code whose value must not be taken for a prompt.
var skipped = []string{"--model", "--mcp-config", "--append-system-prompt", "--system-prompt", "--permission-mode", "--max-turns",
	"--add-dir", "--allowedTools", "--disallowedTools", "--fallback-model", "--max-budget-usd", "--agents"}

func readOptions(args []string) (options, error) {
	o := options{fake: os.Getenv("FAKEAGENT"), control: os.Getenv("FAKEAGENT_CONTROL")}
	for i := 0; i < len(args); i++ {
		flag, value, has := strings.Cut(args[i], "=")
		next := func() string {
			if has {
				return value
			}
			if i++; i < len(args) {
				return args[i]
			}
			return ""
		}
		switch {
		case args[i] == "--":
			o.prompt = strings.Join(args[i+1:], " ")
			i = len(args)
		case flag == "--settings":
			if err := o.take(next()); err != nil {
				return o, err
			}
		case o.set(flag, next):
		case slices.Contains(skipped, flag):
			next()
		case !strings.HasPrefix(args[i], "-"):
			o.prompt = args[i]
		}
	}
	return o, o.takeFiles()
}

func (o *options) set(flag string, next func() string) bool {
	switch flag {
	case "-p", "--print":
		o.print = true
	case "--output-format":
		o.streamOut = next() == "stream-json"
	case "--input-format":
		o.streamIn = next() == "stream-json"
	case "-r", "--resume":
		o.resume = next()
	case "-c", "--continue":
		o.cont = true
	case "--session-id":
		o.session = next()
	case "--fake":
		o.fake = next()
	case "--control":
		o.control = next()
	default:
		return false
	}
	return true
}

// take reads the value of --settings: JSON, or the path of a file of it.
func (o *options) take(text string) error {
	b := []byte(text)
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		var err error
		if b, err = os.ReadFile(text); err != nil {
			return fmt.Errorf("Error processing settings: %w", err)
		}
	}
	var s settings
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("Error processing settings: %w", err)
	}
	o.settings = append(o.settings, s)
	return nil
}

// takeFiles adds the settings of the home folder and of the working folder.
func (o *options) takeFiles() error {
	places := []string{".claude/settings.json"}
	if home := ownHome(); home != "" {
		places = append(places, filepath.Join(home, ".claude/settings.json"))
	}
	for _, p := range places {
		if _, err := os.Stat(p); err == nil {
			if err := o.take(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownHome is a home folder that was made for it, or "".
func ownHome() string {
	home := os.Getenv("HOME")
	if st, err := os.Stat(filepath.Join(home, ".fakeagent")); home == "" || err != nil || !st.IsDir() {
		return ""
	}
	return home
}
