package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Never is the value of FailOn that never makes a command fail.
const Never = "never"

// Config is custos.toml with its defaults filled in. Paths are absolute.
type Config struct {
	File  string // the file that was read, or would have been; "" never happens
	Found bool   // whether File exists
	Text  []byte // the whole file: rules and kinds read their own tables from it
	Kinds []KindFile
	// Joined is which hub this host has joined; nil: none.
	Joined []byte
	Home   string // the home everything stays below unless configured

	Mode        string        // how far Custos may go: observe, ask or auto
	StateDir    string        // database, freeze file, backups
	RuntimeDir  string        // socket and lock of the daemon
	JournalDir  string        // one Markdown file a day
	LogDir      string        // where the daemon's log is kept besides; "" for nowhere
	Active      string        // a switch: while this file is missing Custos is frozen; "" for none
	PatrolEvery time.Duration // between two scheduled patrols of the daemon
	PatrolIdle  time.Duration // at most, while nothing happens; not above PatrolEvery: it is always that
	Grace       time.Duration // after the start of Custos, no action on agents
	Budget      Budget        // actions of the whole fleet in a window
	Blast       int           // distinct subjects of one kind acted on in one pass; 0: no cap
	Workers     int           // actions that may run at the same time
	FailOn      string        // P0 to P4: patrol and first look exit 1 from that priority on; "never"

	session  string          // XDG_RUNTIME_DIR
	sections map[string]bool // known plug-in sections
	all      map[string]any  // the file as it was read
	lines    map[string]int  // first line of every key of the file, by its dotted path
}

// Budget caps actions in a sliding window: at most Max in In.
type Budget struct {
	Max int
	In  time.Duration
}

// Options says where to look and what to expect.
type Options struct {
	File     string                       // of --config; "" is the default place, which may be missing
	Getenv   func(string) string          // nil: os.Getenv
	ReadFile func(string) ([]byte, error) // nil: a regular file of at most LargestFile
	// Passwd is the home in the password file, for when HOME is not set; nil: this user's.
	Passwd   func() (string, error)
	Sections []string // names of the plug-in sections there are: "git", "locks", …
}

// ownTables are tables of custos.toml that another package reads from Text.
var ownTables = []string{"rule", "kind"}

// Load reads the configuration. Every mistake of the file is in the error, one
// a line, in the order of the file.
func Load(o Options) (Config, error) {
	c, err := loadFile(o)
	if err == nil {
		c.Joined = Joined(c.StateDir)
	}
	return c, err
}

func loadFile(o Options) (Config, error) {
	o = o.filled()
	c, err := defaults(o)
	if err != nil {
		return Config{}, err
	}
	c.Kinds = KindFiles(c.File)
	c.Text, err = o.ReadFile(c.File)
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.File == "":
		return c, nil
	case err != nil:
		return Config{}, &Mistake{fmt.Errorf("cannot read the configuration: %w", err)}
	}
	c.Found = true
	if err := c.read(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// filled sets what the machine itself answers.
func (o Options) filled() Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.ReadFile == nil {
		o.ReadFile = func(file string) ([]byte, error) { return ReadFile(file, LargestFile) }
	}
	return o
}

// defaults is the Config of an empty file. It depends on the environment alone.
func defaults(o Options) (Config, error) {
	p, err := placesOf(o.Getenv, o.Passwd)
	if err != nil {
		return Config{}, err
	}
	file := o.File
	if file == "" {
		file = p.configFile
	}
	c := Config{
		File: file, Home: p.home,
		Mode:     "observe",
		StateDir: p.stateDir,
		// The runtime folder is below the state folder and not in
		// XDG_RUNTIME_DIR, which survives a change of HOME: two homes would
		// meet at one socket.
		RuntimeDir:  p.stateDir + "/run",
		JournalDir:  p.stateDir + "/journal",
		PatrolEvery: 20 * time.Minute,
		PatrolIdle:  15 * time.Minute,
		Grace:       2 * time.Minute,
		Budget:      Budget{Max: 20, In: time.Hour},
		Blast:       10,
		Workers:     8,
		FailOn:      Never,
		session:     o.Getenv("XDG_RUNTIME_DIR"),
		sections:    map[string]bool{},
	}
	for _, s := range o.Sections {
		c.sections[s] = true
	}
	return c, nil
}

// Said is all that Load read, as one text: nothing was changed where it is the same.
func (c Config) Said() []byte {
	all := append(slices.Clone(c.Text), c.Joined...)
	for _, f := range c.Kinds {
		all = fmt.Appendf(all, "\x00%s\x00%s\x00%v", f.Path, f.Text, f.Err)
	}
	return all
}

// Line is the first line of a key or table of the file, by its dotted path; 0 when
// the file has no such thing. Errors about what another package reads name it.
func (c Config) Line(path string) int { return c.lines[path] }
