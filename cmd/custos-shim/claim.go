//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// errTaken says that the key already belongs to another shim.
var errTaken = errors.New("the key is taken")

// claim takes the key, for good and for this process alone. The file appears
// with its content or not at all, so half a claim is never read. A key is
// never given back: a new attempt is a new instance.
func claim(dir, key, name string, me process, at instant) error {
	text, err := json.Marshal(claimed{V: recordVersion, Key: key, Name: name, Shim: me, At: at})
	if err != nil {
		return fmt.Errorf("cannot claim %s: %w", key, err)
	}
	tmp := filepath.Join(dir, ".claim."+strconv.Itoa(me.PID))
	if err := writeFile(tmp, append(text, '\n')); err != nil {
		return fmt.Errorf("cannot claim %s: %w", key, err)
	}
	defer os.Remove(tmp)
	err = os.Link(tmp, filepath.Join(dir, "claim"))
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot claim %s: %w by %s", key, errTaken, owner(dir))
	}
	if err != nil {
		return fmt.Errorf("cannot claim %s: %w", key, err)
	}
	return nil
}

// owner says in words who holds the claim.
func owner(dir string) string {
	text, err := readFile(filepath.Join(dir, "claim"))
	if err != nil {
		return "a shim whose claim cannot be read: " + err.Error()
	}
	var c claimed
	if err := json.Unmarshal(text, &c); err != nil || c.Shim.PID == 0 {
		return "a claim that says " + strconv.Quote(strings.TrimSpace(string(text[:min(len(text), 200)])))
	}
	state := "which is gone"
	if start, err := startOf(c.Shim.PID); err == nil && start == c.Shim.Start {
		state = "which is running"
	}
	return fmt.Sprintf("process %d (start %d), %s, since %s", c.Shim.PID, c.Shim.Start, state, c.At.Wall.Format("2006-01-02T15:04:05Z"))
}
