package agents

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// readRegistries reads the registry file of each agent whose kind keeps one, by
// pid, without listing folders. The record may belong to the agent's process or
// to one below it of the same CLI (the first is then a launcher).
func (p *Probe) readRegistries(runs []run) map[fleet.ProcessID]agent.Registry {
	found, read := map[fleet.ProcessID]agent.Registry{}, map[string]registryFile{}
	for _, r := range runs {
		if r.kind.Registry == "" {
			continue
		}
		for _, proc := range r.Tree[:min(len(r.Tree), 4)] {
			if reg, ok := p.readRegistry(r.kind, proc, read); ok {
				found[r.Process.ID] = reg
				break
			}
		}
	}
	p.registries = read
	return found
}

// registryFile is what a registry file said when it was read.
type registryFile struct {
	stamp fileStamp
	uid   int
	says  agent.Registry
}

func (p *Probe) readRegistry(k agent.Kind, proc fleet.Process, read map[string]registryFile) (agent.Registry, bool) {
	for _, dir := range p.registriesOf(k) {
		path := filepath.Join(dir, strconv.Itoa(proc.ID.PID)+".json")
		f, err := p.registryFile(path, proc.UID)
		if err != nil {
			continue
		}
		read[path] = f
		if f.says.PID == proc.ID.PID && f.says.ProcStart == proc.ID.Start {
			return f.says, true // else an orphan: the pid was used before
		}
	}
	return agent.Registry{}, false
}

// settled is how long ago a file has to have changed for its times to tell each further change:
// they go on in steps.
const settled = time.Second

// registryFile reads one, unless it is as it was when it was read last.
func (p *Probe) registryFile(path string, uid int) (registryFile, error) {
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		return registryFile{}, fmt.Errorf("cannot read registry: %w", err)
	}
	if was, known := p.registries[path]; known && was.uid == uid && was.stamp == stampOf(s) {
		return was, nil
	}
	b, err := readOwn(path, uid)
	if err != nil {
		return registryFile{}, err
	}
	f := registryFile{uid: uid}
	if f.says, err = agent.ParseRegistry(b); err == nil && time.Since(time.Unix(s.Ctim.Unix())) > settled {
		f.stamp = stampOf(s)
	}
	return f, err
}

// registriesOf are the folders of a kind's registry files.
func (p *Probe) registriesOf(k agent.Kind) (dirs []string) {
	if p.o.Home != "" {
		dirs = append(dirs, filepath.Join(p.o.Home, k.Registry))
	}
	dirs = append(dirs, p.o.Registries...)
	below, own := strings.CutPrefix(k.Registry, k.Transcripts.Home+"/")
	for _, a := range p.o.Accounts {
		if own && a.Kind == k.Name && a.ConfigDir != "" {
			dirs = append(dirs, filepath.Join(k.Transcripts.Named(fleet.RawPath(a.ConfigDir)), below))
		}
	}
	return dirs
}

// readOwn reads a small regular file that belongs to the user whose process it
// speaks of. It follows no link and waits for no pipe.
func readOwn(path string, uid int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot read registry: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot read registry: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(st.Uid) != uid || info.Size() > agent.RegistryLimit {
		return nil, errors.New("cannot use registry: not a small file of its own user")
	}
	b, err := io.ReadAll(io.LimitReader(f, agent.RegistryLimit+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read registry: %w", err)
	}
	return b, nil
}
