// Package remote asks Custos on other machines, through ssh: no port is opened anywhere, and
// who asks there is the user that ssh logs in as. What is asked and answered is the API, as at
// the socket of this machine. What another container publishes at a socket is asked in the same
// way, and may only be looked at.
package remote

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"custos/internal/config"
)

// Host is another machine, or container, with a Custos: the section [host.NAME].
type Host struct {
	Name    string
	SSH     string // where ssh goes: a name of its configuration, or user@machine
	Program string // custos there
	Socket  string // instead: where it publishes what it sees
	Token   string // the file that holds what has to be shown there
	Hub     string // instead: the socket of this machine's daemon, which asks it over the hub that both have joined
}

type section struct {
	SSH       string `toml:"ssh" is:"name"`
	Program   string `toml:"program" is:"name"`
	Socket    string `toml:"socket" is:"path"`
	TokenFile string `toml:"token_file" is:"path"`
}

// host is the section as it is told; what is left out is the usual.
func (s section) host(cfg config.Config, name string) (h Host, err error) {
	h = Host{Name: name, SSH: s.SSH, Program: cmp.Or(s.Program, "custos")}
	if s.Socket == "" && s.TokenFile == "" {
		return h, h.check()
	}
	if s.SSH != "" || s.Program != "" || s.Socket == "" || s.TokenFile == "" {
		return h, errors.New("socket: want ssh, or a socket with its token_file")
	}
	socket, wrong := cfg.Expand(s.Socket)
	token, err := cfg.Expand(s.TokenFile)
	h.Socket, h.Token = socket, token
	return h, cmp.Or(wrong, err, h.check())
}

// Section is the name of the sections that tell of hosts.
const Section = "host"

// Hosts are those of the sections [host.NAME] and those of the hub, in the order of their names. Of a
// name that both have the section counts.
func Hosts(cfg config.Config) ([]Host, error) {
	out, err := sections(cfg)
	for _, name := range joined(cfg) {
		if !slices.ContainsFunc(out, func(h Host) bool { return h.Name == name }) {
			out = append(out, Host{Name: name, Hub: cfg.Socket()})
		}
	}
	slices.SortFunc(out, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	return out, err
}

func sections(cfg config.Config) (out []Host, err error) {
	given := map[string]section{}
	if err := cfg.Named(Section, &given); err != nil {
		return nil, err
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		h, err := given[name].host(cfg, name)
		wrong = append(wrong, cfg.Misread(Section+"."+name, err))
		out = append(out, h)
	}
	return out, errors.Join(wrong...)
}

var (
	hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	// What ssh would take for a flag, and what a shell would read otherwise, is no address.
	address = regexp.MustCompile(`^[A-Za-z0-9_\[][A-Za-z0-9._@:%\[\]-]*$`)
	// The shell of the other machine reads it: a path and nothing else.
	programPath = regexp.MustCompile(`^[A-Za-z0-9_./~][A-Za-z0-9._/+-]*$`)
)

func (h Host) check() error {
	switch {
	case !hostName.MatchString(h.Name):
		return errors.New("its name may have letters, digits, and . _ -, 64 at most: it is a word of commands")
	case h.Socket != "", h.Hub != "":
		return nil
	case h.SSH == "":
		return errors.New(`ssh: say where ssh goes, like "box1" or "ann@box1"`)
	case !address.MatchString(h.SSH):
		return fmt.Errorf("ssh: %q is no place to go for ssh: what else it needs stands in ~/.ssh/config", h.SSH)
	case !programPath.MatchString(h.Program):
		return fmt.Errorf("program: %q is not the path of a program: the shell there would read it otherwise", h.Program)
	}
	return nil
}
