// Package service has systemd keep a daemon of Custos running: it writes the unit, has it
// begin, sees that the daemon is well, and puts everything back where it is not. It ends no
// agent: a unit whose stop would, is not stopped.
package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/service/unit"
	"custos/internal/sys/files"
	"custos/internal/sys/settings"
	"custos/internal/sys/systemd"
)

// Machine is where a service is installed. The zero values are this machine.
type Machine struct {
	Root   string                 // where its files are; "" is /
	Getenv func(string) string    // of the person who installs
	UID    func() int             // of that person
	Exe    func() (string, error) // this program
	Passwd func(uid int) (name, home string, err error)
	Every  time.Duration // between looks at what begins; 0 is half a second
	Within time.Duration // how long the daemon may take until it is well; 0 is a minute
}

// Health is how the daemon is that answers, if one does.
type Health struct {
	Well bool
	Says string // in one line
	PID  int    // of the daemon there is; 0 when that is not known
}

// Options say which service is meant.
type Options struct {
	System  bool     // of the whole machine, run by root; else this user's own
	Config  string   // absolute path of custos.toml; "" for the usual one
	Env     []string // names of more variables that the daemon is given
	Replace bool     // a unit that somebody else wrote, or has changed
	Health  func(ctx context.Context) Health
}

// Service is one of them.
type Service struct {
	m          Machine
	o          Options
	manager    *systemd.Writer
	other      *systemd.Reader // the manager that it is not under
	name, home string          // of the user whose daemon it is
}

// errors that a caller tells apart.
var (
	// ErrNoSystemd says that no systemd runs here, or that it cannot be spoken to.
	ErrNoSystemd = errors.New("systemd cannot be spoken to")
	// ErrRefused says that nothing was changed, because of what is there, or was asked for.
	ErrRefused = errors.New("refused")
	// ErrUndone says that what was changed was put back.
	ErrUndone = errors.New("undone")
)

// New finds out whose service is meant. It changes nothing.
func New(m Machine, o Options) (*Service, error) {
	m = m.real()
	s, err := bare(m, o)
	if err != nil {
		return nil, err
	}
	home, name := s.home, s.name
	switch {
	case o.System && m.UID() != 0:
		return nil, refusal("a unit of the system is root's to write", "sudo custos service install --system, or custos service install --user")
	case filepath.Clean(m.Getenv("HOME")) != filepath.Clean(home):
		return nil, refusal(fmt.Sprintf("HOME is %q here, and %s has %s: the daemon would keep its things elsewhere than this command looks for them", m.Getenv("HOME"), name, home), "HOME="+home+" custos service status")
	}
	return s, nil
}

// bare is a service to look at: whether it may be changed was not looked at.
func bare(m Machine, o Options) (*Service, error) {
	name, home, err := m.Passwd(m.UID())
	if err != nil {
		return nil, fmt.Errorf("cannot tell whose daemon it would be: %w", err)
	}
	of := func(user bool) systemd.Options {
		return systemd.Options{User: user, Root: m.Root, Getenv: m.Getenv, UID: m.UID()}
	}
	return &Service{m: m, o: o, manager: systemd.NewWriter(of(!o.System)), other: systemd.NewReader(of(o.System)), name: name, home: home}, nil
}

func (m Machine) real() Machine {
	if m.Getenv == nil {
		m.Getenv = os.Getenv
	}
	if m.UID == nil {
		m.UID = os.Getuid
	}
	if m.Exe == nil {
		m.Exe = os.Executable
	}
	if m.Passwd == nil {
		m.Passwd = passwd
	}
	if m.Every == 0 {
		m.Every = time.Second / 2
	}
	if m.Within == 0 {
		m.Within = time.Minute
	}
	return m
}

// IsRoot says whether who installs is root.
func (m Machine) IsRoot() bool { return m.real().UID() == 0 }

func passwd(uid int) (name, home string, err error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return "", "", err
	}
	return u.Username, u.HomeDir, nil
}

// Refusal is an ErrRefused with what may be typed instead.
type Refusal struct{ Why, Try string }

func (r *Refusal) Error() string { return r.Why }

// Is says that it is an ErrRefused.
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// undone is an ErrUndone: why.
type undone struct{ error }

func (u *undone) Is(target error) bool { return target == ErrUndone }
func (u *undone) Unwrap() error        { return u.error }

func refusal(why, try string) error { return &Refusal{why, try} }

// Manager is what the manager is called: user or system.
func (s *Service) Manager() string {
	if s.o.System {
		return "system"
	}
	return "user"
}

// systemctl is a command for a person to type.
func (s *Service) systemctl(words string) string {
	if s.o.System {
		return "systemctl " + words
	}
	return "systemctl --user " + words
}

// Journal is a command that shows what the daemon said.
func (s *Service) Journal() string {
	return "journalctl --" + s.Manager() + " --unit " + unit.Name + " --lines 30"
}

// Path is where the unit of an administrator, or of a user, lies.
func (s *Service) Path() string {
	home := s.m.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(s.home, ".config")
	}
	return filepath.Join(s.manager.Folder(home), unit.Name)
}

// Plan is what an installation would write.
type Plan struct {
	Path    string      `json:"unit"`
	Program string      `json:"program"`
	Text    string      `json:"text"`
	Was     string      `json:"was,omitempty"`
	Origin  unit.Origin `json:"origin,omitempty"` // of what is there; "" where nothing is
	Notes   []string    `json:"notes"`
}

// Changes says whether the file is not so already.
func (p Plan) Changes() bool { return p.Text != p.Was }

// Compose makes the unit. It asks nothing of systemd.
func (s *Service) Compose() (Plan, error) {
	exe, err := s.m.Exe()
	if err != nil {
		return Plan{}, fmt.Errorf("cannot find this program: %w", err)
	}
	p := Plan{Path: s.Path(), Notes: []string{}}
	if p.Program, err = Lasting(exe, s.m.Getenv("PATH")); err != nil {
		return p, refusal(err.Error(), "custos help install.md")
	}
	o := unit.Options{Program: p.Program}
	if s.o.System {
		o.User = s.name
	}
	if s.o.Config != "" {
		o.Args = []string{"--config", s.o.Config}
	}
	var notes []string
	if o.Env, notes, err = environ(s.m.Getenv, s.o.Env); err != nil {
		return p, refusal(err.Error(), "")
	}
	p.Notes = append(p.Notes, notes...)
	text, err := unit.Text(o)
	if err != nil {
		return p, refusal(err.Error(), "")
	}
	p.Text = unit.Marked(text)
	return p, nil
}

// Look completes a plan with what is there, and refuses what must not be overwritten. It
// changes nothing.
func (s *Service) Look(p Plan) (Plan, error) {
	was, err := s.read(p.Path)
	if err != nil {
		return p, err
	}
	if was == nil {
		return p, nil
	}
	p.Was, p.Origin = string(was), unit.OriginOf(string(was))
	return p, nil
}

// largest is many times what a unit has, in bytes.
const largest = 1 << 20

// read reads a unit; nil where there is none. A link is none of ours: a unit that is masked is one.
func (s *Service) read(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot look at the unit: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, refusal(path+" is a link: it is masked, or kept elsewhere", s.systemctl("unmask "+unit.Name))
	}
	text, err := files.Read(path, largest)
	if err != nil {
		return nil, fmt.Errorf("cannot read the unit: %w", err)
	}
	return append([]byte{}, text...), nil
}

func (p Plan) edited() bool { return p.Origin == unit.Edited || p.Origin == unit.Other }

// write puts the unit in its place.
func (s *Service) write(p Plan) error {
	if now, err := s.read(p.Path); err != nil || string(now) != p.Was {
		return errors.Join(err, fmt.Errorf("cannot write %s: it was changed just now; run the command again", p.Path))
	}
	return settings.Lay(p.Path, []byte(p.Text), 0o644)
}

// line is text of a program, for an error.
func line(text string) string { return fleet.Line(strings.TrimSpace(text), 300) }
