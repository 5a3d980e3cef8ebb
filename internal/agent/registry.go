package agent

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// RegistryLimit is the most of a registry file that is read, in bytes; real ones
// are under 1 KiB.
const RegistryLimit = 64 << 10

// Registry is what an agent's own record file says (Claude Code 2.1.139 and
// later). It is semi-documented, and is not rewritten during a long turn: an old
// record is not a stale one.
type Registry struct {
	PID        int
	ProcStart  uint64 // clock ticks since boot, as in fleet.ProcessID
	Status     string // busy, idle, waiting, shell; others are not understood
	WaitingFor string
	SessionID  string
	Version    string    // of the CLI; empty when not told
	Updated    time.Time // zero when not told
}

// ParseRegistry reads a registry file. Only a record with pid, process start and
// status is one: without them it cannot be told from an orphan.
func ParseRegistry(b []byte) (Registry, error) {
	if len(b) > RegistryLimit {
		return Registry{}, fmt.Errorf("cannot read registry file: more than %d bytes", RegistryLimit)
	}
	var raw struct {
		PID        int             `json:"pid"`
		ProcStart  json.RawMessage `json:"procStart"`
		Status     string          `json:"status"`
		WaitingFor json.RawMessage `json:"waitingFor"`
		SessionID  string          `json:"sessionId"`
		Version    json.RawMessage `json:"version"`
		Updated    json.RawMessage `json:"statusUpdatedAt"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return Registry{}, fmt.Errorf("cannot read registry file: %w", err)
	}
	start, err := strconv.ParseUint(conversation.Scalar(raw.ProcStart), 10, 64)
	if err != nil || start == 0 || raw.PID <= 0 || raw.Status == "" {
		return Registry{}, fmt.Errorf("cannot use registry file: pid, procStart and status are needed")
	}
	return Registry{
		PID: raw.PID, ProcStart: start, Status: fleet.Line(raw.Status, 32),
		WaitingFor: fleet.Redact(fleet.Line(conversation.Scalar(raw.WaitingFor), 120)),
		SessionID:  fleet.Line(raw.SessionID, 64), Version: fleet.Line(conversation.Scalar(raw.Version), 40), Updated: moment(conversation.Scalar(raw.Updated)),
	}, nil
}

// moment reads milliseconds since 1970, or RFC 3339.
func moment(s string) time.Time {
	if ms, err := strconv.ParseFloat(s, 64); err == nil && ms > 0 && ms < math.MaxInt64/2 {
		return time.UnixMilli(int64(ms)).UTC()
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// state turns a registry status into a state; ok is false for one that is not
// understood.
func (r Registry) state() (s fleet.AgentState, says string, ok bool) {
	switch r.Status {
	case "busy":
		return fleet.StateWorking, "its registry file says busy", true
	case "shell":
		return fleet.StateWorking, "its registry file says that a shell command is running", true
	case "idle":
		return fleet.StateIdle, "its registry file says idle", true
	case "waiting":
		says = "its registry file says waiting"
		if r.WaitingFor != "" {
			says += " for " + r.WaitingFor
		}
		return fleet.StateWaiting, says, true
	}
	return "", fmt.Sprintf("its registry file says %q, which is not understood", r.Status), false
}
