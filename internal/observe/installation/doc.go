// Package installation looks at Custos's own installation: its programs, folders, sockets,
// database and settings. It changes nothing, and judges nothing: that is doctor's, and of the
// landmarks the rules'.
package installation

import (
	"custos/internal/agent"
	"custos/internal/config"
	"custos/internal/doctor"
	"custos/internal/fleet"
	"custos/internal/report"
)

// Options say where the things of Custos are.
type Options struct {
	Config    config.Config
	Sections  []string      // of custos.toml
	Trouble   func() string // why what custos.toml says is not in force; "" when it is
	Aside     string        // which files of kinds are not used, and why; "" for none
	Getenv    func(string) string
	Kinds     *agent.Kinds
	Accounts  fleet.Accounts
	StartedAt fleet.Instant
	Database  string
	Socket    string // of the daemon
	Tmux      string // socket of the terminal server of Custos
	Shims     string // folder of all instances of agents
	Hook      string // the executable that agents' hooks call; "" when it is not there
	Chats     []report.Chat
	Logs      func() []fleet.Log // those that were seen
	Listeners []doctor.Listener
}
