package doctor

import (
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Examination is everything the checks judge.
type Examination struct {
	At      fleet.Instant
	Version string // of who looks
	Asker   string // version of the program that asked; "" when it did not say
	Daemon  bool   // a daemon looks

	Rules        []api.Rule // in force: those with a category are checks
	Installation Installation
	Pass         *fleet.Pass // nil: there was no look
	NoPass       string      // why
	Formulas     fleet.Leaf[[]api.FormulaRow]
	Schedules    fleet.Leaf[int]               // that are on
	Events       fleet.Leaf[[]fleet.HookEvent] // of the last EventsWithin, the newest MostEvents
}

// How many of the events that agents' hooks sent are looked through for tools that never ended.
const (
	EventsWithin = 24 * time.Hour
	MostEvents   = 20000
)

// Installation is what was found of Custos's own installation on the machine. No
// field holds a secret: of a token there is only the file it lies in.
type Installation struct {
	UID       int
	NotKnown  string // why it is not known whether a daemon runs; "" when it is
	Mute      bool   // a daemon holds the lock, and it is not the one that answers
	Config    ConfigFacts
	Programs  []Program // tmux, git, custos-shim, custos-hook
	Kinds     []Program // the CLIs of the kinds of agents, by kind
	Places    []Place   // folders, files and sockets of Custos, and files that hold tokens
	Store     StoreFacts
	Hooks     []HookFacts
	People    []string   // names of the notifiers of custos.toml
	Chats     []Chat     // those of them that can be asked who Custos is, when it was asked for
	Lines     []LogLines // of logs of JSON lines, when it was asked for
	Built     string     // what this very program was built from; "" when that is not known
	Listeners []Listener // beside the unix sockets
	Services  Services
}

// Services are the units of systemd that start a daemon of this user, when it was asked for.
type Services struct {
	Err   string // why it is not known; "" when it is
	Units []Service
}

// Service is one of them.
type Service struct {
	Unit    string // its file
	Err     string // why systemd did not say how it is; "" when it did
	Enabled bool
	Active  string
	Lingers string   // whether its user's manager runs without a login: yes, no, unknown; "" for the system's
	User    string   // as whom it runs
	Broken  []string // what ends agents, or keeps the daemon from running
	Drift   []string // what else is not as it should be
}

// Listener is an address that is listened at.
type Listener struct {
	What     string // metrics, signed webhooks or the page
	Address  string
	Loopback bool   // only this machine reaches it
	Guard    string // what keeps others out, or does not; "" for nothing
	Trouble  string // why nobody listens there now; "" when somebody does, and when that is not known
}

// ConfigFacts is custos.toml.
type ConfigFacts struct {
	File    string
	Found   bool
	Err     string // what is wrong with it
	Broken  string // what is wrong with what stands in it by now, while what was read before is in force
	Aside   string // which files of kinds are not used, and why; "" for none
	Changed string // how the file differs from what this Custos read; "" when it does not, or that is not known
}

// Program is an executable that something needs.
type Program struct {
	Name    string
	Path    string // "": it is not there
	Version string // as it says itself; "" when it was not asked
	Err     string // why it is not there, or does not answer
	Built   string // what it was built from, of ours; "" when that is not known
}

// Chat is a place where people are notified, and what it says of Custos.
type Chat struct {
	Name    string
	Me      string // who Custos is there
	Err     string // why it did not say
	Refused bool   // because it does not know Custos, or does not let it in
}

// LogLines is the end of a log that should be one JSON value a line.
type LogLines struct {
	Path   string
	Read   int    // lines
	Broken int    // of them
	First  string // the first of these, cut short
	Err    string // why it cannot be read
}

// Place is a file, folder or socket.
type Place struct {
	What string // state, run, …: what it is for; of a token the section that names its file
	Path string // in the form of fleet.Path
	Want string // dir, file or socket
	Is   string // dir, file, socket or other; "": it is not there
	UID  int
	Mode uint32       // permission bits
	Shut bool         // others cannot get at it, whatever its mode: a folder above is closed
	File fleet.FileID // device and inode
	Err  string       // why it cannot be looked at
	Own  bool         // this process may write it
}

// StoreFacts is the ledger's database.
type StoreFacts struct {
	Path     string
	There    bool
	Err      string   // it cannot be opened to read
	Damaged  bool     // because it is damaged
	Newer    bool     // because a newer Custos wrote it
	Faults   []string // what a check of every page and index found, when it was asked for
	PagesErr string   // why it could not be checked
	Aside    []string
}

// HookFacts is the settings file of one kind of agent CLI.
type HookFacts struct {
	Kind    string
	Account bool     // it lies in the folder of an account
	File    string   // in the form of fleet.Path
	Err     string   // it cannot be read, or makes no sense
	Events  []string // hooked
	Missing []string
	Command string // what they call
	Hook    string // what they should call; "" when that is not there
	Kept    bool   // the file as it was before install is kept beside it
	Exact   bool   // uninstall would make exactly that file of it
	Deaf    string // why agents ignore those that Custos starts them with; "" where nothing is known to keep them from it
}
