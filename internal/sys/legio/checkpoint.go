package legio

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/sys/files"
)

// Bounds of what is read of a checkpoint.
const (
	longestCheckpoint = 256 << 10
	mostFiles         = 50
)

// Checkpoint is what an agent has written down of its work.
type Checkpoint struct {
	At    time.Time
	Task  string
	Says  string // what is done, and what is left
	Files []string
}

// CheckpointOf reads what the agent of a name has written down, beside a store;
// false when there is nothing that can be read. Only a file of this user's own is
// believed.
func CheckpointOf(store, agent string) (c Checkpoint, ok bool) {
	if agent == "" || agent != filepath.Base(agent) || strings.HasPrefix(agent, ".") {
		return c, false
	}
	path := filepath.Join(filepath.Dir(store), "agents", agent, "checkpoint.json")
	is, err := fileOf(path)
	if err != nil || is.size > longestCheckpoint {
		return c, false
	}
	text, err := files.Read(path, longestCheckpoint)
	if err != nil {
		return c, false
	}
	changed := time.Unix(0, is.mtime)
	var in struct {
		BeadID          string   `json:"beadId"`
		TaskID          string   `json:"taskId"`
		Timestamp       string   `json:"timestamp"`
		ProgressSummary string   `json:"progressSummary"`
		PendingWork     string   `json:"pendingWork"`
		FilesModified   []string `json:"filesModified"`
	}
	if json.Unmarshal(text, &in) != nil {
		return c, false
	}
	c = Checkpoint{At: changed.UTC(), Task: in.TaskID, Says: in.ProgressSummary, Files: in.FilesModified[:min(len(in.FilesModified), mostFiles)]}
	if at, err := moment(in.Timestamp); err == nil && !at.IsZero() && at.Before(c.At) {
		c.At = at
	}
	if c.Task == "" {
		c.Task = in.BeadID
	}
	if in.PendingWork != "" {
		c.Says = strings.TrimSpace(c.Says + "\nLeft to do: " + in.PendingWork)
	}
	return c, true
}
