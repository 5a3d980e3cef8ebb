package agentrun

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/policy"
	"custos/internal/sys/git"
)

// policyVar names the compiled policy to custos-hook, which the agent's hooks call.
const policyVar = "CUSTOS_POLICY"

// policy compiles what an agent's calls are judged by, with the places of the folder that it is
// started in, into a file beside those of the hooks. A role without a policy, and a kind
// without hooks, get none, and nothing of their start is different.
func (l *Launcher) policy(r fleet.Registration, instance, dir string, b *Begin) (env []string, err error) {
	if l.o.Policy == nil {
		return nil, nil
	}
	p, ok := l.o.Policy(r.Role)
	if !ok {
		return nil, nil
	}
	b.Policy = p.Name
	if l.o.Hook == "" || !l.Kinds.Hooked(r.Kind) {
		return nil, nil
	}
	b.judged = &policy.Compiled{Agent: r.Name, Instance: instance, Policy: p}
	file := policy.File(l.o.Run, r.Name)
	b.Grants = policy.Grants(file)
	return []string{policyVar + "=" + file}, l.place(b, dir)
}

// place writes what lies where into the policy of a start: again when it is done, for its worktree may be made only then.
func (l *Launcher) place(b *Begin, dir string) error {
	if b.judged == nil {
		return nil
	}
	b.judged.Places = l.places(dir)
	text, err := b.judged.Encode()
	if err != nil {
		return err
	}
	b.Files = maps.Clone(b.Files)
	if b.Files == nil {
		b.Files = map[string][]byte{}
	}
	b.Files[policy.File(l.o.Run, b.judged.Agent)] = text
	return nil
}

// places are what lies where for an agent that is started in a folder (raw).
func (l *Launcher) places(dir string) policy.Places {
	home := ""
	for _, kv := range l.o.Environ() {
		if value, ok := strings.CutPrefix(kv, "HOME="); ok && filepath.IsAbs(value) {
			home = filepath.Clean(value)
		}
	}
	return Places(dir, home, append([]string{l.o.Run, l.Shims}, l.o.Own...))
}

// Places are what lies where for who works in a folder: own are the folders of Custos. What is in no
// repository that can be read works in that folder.
func Places(dir, home string, own []string) policy.Places {
	w, err := git.Find(dir)
	if err != nil || w.Bare {
		return policy.Places{Worktree: filepath.Clean(dir), Home: home, Custos: own}
	}
	return policy.Places{Worktree: w.Top, GitDir: w.GitDir, Common: w.Common, Others: w.Others(), Branch: w.Branch(), Home: home, Custos: own}
}

// given sums up the files of a start.
func given(files map[string][]byte) (list []fleet.Given) {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		list = append(list, fleet.Given{Path: fleet.Path(path), Sum: fmt.Sprintf("%x", sha256.Sum256(files[path]))})
	}
	return list
}
