// Package client is what stands in for the daemon where Custos watches nothing: it is then a client
// of other machines, and knows of its own one only that it is not known. It looks at nothing, and
// does nothing.
package client

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/schema"
)

// Why is why nothing is known of this machine.
const Why = "Custos watches Linux only; name another one with --host, or in [host.NAME]"

// Error refuses what is about this machine.
func Error() error {
	return &api.Error{Kind: api.CannotLook, Message: "cannot look at this machine: " + Why, Hint: "custos help hosts.md"}
}

// Process is the one that asks.
type Process struct {
	Getenv   func(string) string
	Terminal bool // it writes to one
}

// Handler answers what the daemon of a machine that is not watched would: of its agents and
// alerts, that they are not known; who asks, as far as that is told here; and what needs no machine.
func Handler(p Process) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		v, err := p.answer(req)
		if err != nil {
			e := api.ErrorOf(err)
			w.WriteHeader(e.HTTPStatus())
			v = e
		}
		text, ok := v.([]byte)
		if !ok {
			text, _ = json.Marshal(v) // of what is published here, all can be
		}
		_, _ = w.Write(text) // to memory
	})
}

func (p Process) answer(req *http.Request) (any, error) {
	name, isSchema := strings.CutPrefix(req.URL.Path, "/v1/schema/")
	switch path := req.URL.Path; {
	case req.Method != http.MethodGet:
	case isSchema:
		return schema.Of(name)
	case path == "/v1/schema":
		return schema.Names(), nil
	case path == "/v1/caller":
		return p.caller(), nil
	case path == "/v1/agents":
		return api.Agents{At: time.Now().UTC(), Seen: api.PartSeen{Part: "agents", Status: "unknown", Why: Why},
			Agents: []api.AgentRow{}, Pending: []api.Pending{}, Kept: []string{}, Next: []api.Hint{}}, nil
	case path == "/v1/alerts":
		return api.Alerts{Alerts: []api.Alert{}, Unseen: Why}, nil
	}
	return nil, Error()
}

// agentMarks are variables that agents and their CLIs set in what they run.
var agentMarks = []string{"CUSTOS_AGENT", "CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "CODEX_CI", "GEMINI_CLI", "OPENCODE", "CURSOR_AGENT"}

// caller says who runs this command. No agent of this machine is seen, so that only its
// environment tells of one, and only a terminal of a person: where neither does, it is not known.
func (p Process) caller() api.Caller {
	for _, mark := range agentMarks {
		if p.Getenv(mark) != "" {
			return api.Caller{Why: "its environment is an agent's: " + mark + " is set"}
		}
	}
	if !p.Terminal {
		return api.Caller{Why: "Custos sees no agents on this machine, and no terminal shows that a person asks"}
	}
	return api.Caller{Person: true}
}

// Sections are the sections of custos.toml that a machine which is watched reads: one file
// serves both. What is in them a client does not read.
func Sections() []string {
	return strings.Fields(`abort_rebase account agents answer beads boundary budget ci clear_build_output containers coordination credential forge formulas
		git grants handoff heartbeat host hub interrupt journal launch limits locks logs mail maintenance merge metrics notifier
		notify_terminal nudge overlap phases plugins policy pool prices probe processes publish recover replies role rotate_log route
		schedule spawn stop stop_tree team tmux transcripts triage vault web webhook`)
}
